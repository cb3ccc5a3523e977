"""A lane in one of Spark's Python workers."""

from __future__ import annotations

import io
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from pyspark import TaskContext

from millstream.config import StreamsConfig
from millstream.hosting.lanes.lane import Lane
from millstream.hosting.lanes.messages import Close
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.own_process import settle_in
from millstream.hosting.whose import PLACE
from millstream.spark.calls.handshake import greet_lane
from millstream.spark.lane_job.channel import Channel, Hello, Lines, ToDriver
from millstream.spark.lane_job.watchdog import watch

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
        levels: of the driver's loggers.
        is_application: the service is one application.
    """

    config: StreamsConfig
    service: str
    server: str
    address: tuple[str, int]
    secret: bytes = field(repr=False)
    levels: Mapping[str, int] = field(default_factory=dict, hash=False)
    is_application: bool = False

    def __call__(self, number: int, _: Iterable[int]) -> Iterator[int]:
        """Be a lane until the driver ends it: what Spark runs."""
        settle_in()
        connection = socket.create_connection(self.address)
        greet_lane(connection, self.secret)
        channel = Channel(connection)
        channel.send(Hello(number, socket.gethostname(), os.getpid()))
        task = TaskContext.get()
        settings = LaneSettings(
            self.config,
            self.service,
            f"{self.server}-{number}",
            self.is_application,
            is_replacement=task is not None and task.attemptNumber() > 0,
        )
        lane = Lane(settings, channel.send)
        closing = threading.Event()
        threading.Thread(target=_listen, args=(channel, lane, closing), name="orders", daemon=True).start()
        watching = partial(watch, channel, self.config.max_poll_interval.total_seconds(), closing)
        threading.Thread(target=watching, name="pulse", daemon=True).start()
        try:
            with self._told(channel, number):
                lane.run()
        finally:
            closing.set()
            channel.close()
        yield number

    @contextmanager
    def _told(self, channel: Channel, number: int) -> Iterator[None]:
        """Have the driver hear what is said here: of an application everything, of many queries what lanes say."""
        PLACE.lane = number
        logger = logging.getLogger() if self.is_application else logging.getLogger("millstream")
        handler, before = ToDriver(channel), (sys.stdout, sys.stderr)
        logger.addHandler(handler)
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)
        if self.is_application:
            logging.captureWarnings(capture=True)
            sys.stdout = io.TextIOWrapper(Lines(channel), "utf-8", "backslashreplace", write_through=True)
            sys.stderr = io.TextIOWrapper(Lines(channel), "utf-8", "backslashreplace", write_through=True)
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdout, sys.stderr = before
            logging.captureWarnings(capture=False)
            logger.removeHandler(handler)


def _listen(channel: Channel, lane: Lane, closing: threading.Event) -> None:
    """Pass orders on. Without its driver a lane has nobody to work for, and another server takes its tasks over."""
    while (order := channel.receive()) is not None:
        if isinstance(order, Close):
            closing.set()
        lane.order(order)  # type: ignore[arg-type]  # the driver sends nothing else
    if not closing.is_set():
        lane.abandon()
        os._exit(_GONE)
