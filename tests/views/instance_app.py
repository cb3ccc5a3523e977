"""An instance with views of its own, in a process of its own: prints its port, and runs until it is killed."""

from __future__ import annotations

import json
import logging
import sys
import threading

from tests.views.sockets import Server, SocketRemote
from tests.views.world import counting

from millstream import StreamsConfig
from millstream.views.answers import Instance
from millstream.views.api import Views

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    options = json.loads(sys.argv[1])
    name = options.pop("instance")
    server = Server()
    views = Views(
        counting(), StreamsConfig(**options), instance=Instance(name, "127.0.0.1", server.port), remote=SocketRemote()
    )
    views.start()
    server.views = views
    print(server.port, flush=True)
    threading.Event().wait()
