"""The application on a port."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.ksqldb.rest.app import OPEN_PATHS, STREAMED_PATHS
from millstream.ksqldb.rest.errors import restate
from millstream.server.guard import Application
from millstream.server.listening import Listener
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings


def http_server(
    app: Application, listener: Listener, settings: ServerSettings, open_paths: Iterable[str] = ()
) -> HttpServer:
    """A server for the application; `RestApp.close()` before `HttpServer.close()` ends push queries at once.

    Args:
        app: a `RestApp`, or what is around one.
        listener: where.
        settings: limits, authentication, TLS.
        open_paths: paths that need no authentication, beside those of the protocol.
    """
    return HttpServer(
        app, listener, settings, (*OPEN_PATHS, *open_paths), streamed_paths=STREAMED_PATHS, restate=restate
    )
