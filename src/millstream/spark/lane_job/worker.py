"""A lane in one of Spark's Python workers."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from millstream.config import StreamsConfig
from millstream.hosting.lanes.lane import Lane
from millstream.hosting.lanes.messages import Close
from millstream.hosting.lanes.settings import LaneSettings
from millstream.spark.calls.handshake import greet_lane
from millstream.spark.lane_job.channel import Channel, Hello, ToDriver

_GONE = 70


@dataclass(frozen=True)
class LanesOfServer:
    """What every lane of a server must know.

    Args:
        config: where the brokers are.
        service: whose lanes they are.
        server: the server's name in the service; no other has it.
        address: where the driver listens.
        secret: what both sides must know.
        level: of the driver's loggers.
        is_application: the service is one application.
    """

    config: StreamsConfig
    service: str
    server: str
    address: tuple[str, int]
    secret: bytes = field(repr=False)
    level: int = logging.WARNING
    is_application: bool = False

    def __call__(self, number: int, _: Iterable[int]) -> Iterator[int]:
        """Be a lane until the driver ends it: what Spark runs."""
        connection = socket.create_connection(self.address)
        greet_lane(connection, self.secret)
        channel = Channel(connection)
        logger = logging.getLogger("millstream")
        handler = ToDriver(channel)
        logger.addHandler(handler)
        logger.setLevel(self.level)
        channel.send(Hello(number, socket.gethostname(), os.getpid()))
        settings = LaneSettings(self.config, self.service, f"{self.server}-{number}", self.is_application)
        lane = Lane(settings, channel.send)
        closing = threading.Event()
        threading.Thread(target=_listen, args=(channel, lane, closing), name="orders", daemon=True).start()
        try:
            lane.run()
        finally:
            closing.set()
            logger.removeHandler(handler)
            channel.close()
        yield number


def _listen(channel: Channel, lane: Lane, closing: threading.Event) -> None:
    """Pass orders on. Without its driver a lane has nobody to work for, and another server takes its tasks over."""
    while (order := channel.receive()) is not None:
        if isinstance(order, Close):
            closing.set()
        lane.order(order)  # type: ignore[arg-type]  # the driver sends nothing else
    if not closing.is_set():
        os._exit(_GONE)
