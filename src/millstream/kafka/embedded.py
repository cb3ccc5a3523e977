"""`bootstrap_servers="embedded"`: a broker that lives as long as this process."""

from __future__ import annotations

import atexit
import threading
from dataclasses import replace

from millstream.config import EMBEDDED, StreamsConfig
from millstream.kafka.broker import DevBroker

_lock = threading.Lock()
_broker: DevBroker | None = None


def embedded_broker() -> DevBroker:
    """This process's broker, started when it is first asked for and stopped when the process ends."""
    global _broker  # all applications of a process share it, so that they see each other's topics
    with _lock:
        if _broker is None:
            broker = DevBroker()
            broker.start()
            atexit.register(broker.stop)
            _broker = broker
        return _broker


def with_broker(config: StreamsConfig) -> StreamsConfig:
    """The configuration with real bootstrap servers: if they are "embedded", a broker is started."""
    if config.bootstrap_servers != EMBEDDED:
        return config
    return replace(config, bootstrap_servers=embedded_broker().bootstrap_servers)
