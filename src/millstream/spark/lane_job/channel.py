"""How the driver and its lanes talk: pickled messages, after both have proved to know the job's secret."""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import socket
import threading
from dataclasses import dataclass
from typing import Any, TypeAlias

from millstream.hosting.lanes.messages import Event, Order, Ready
from millstream.hosting.whose import PLACE
from millstream.spark.calls.frames import receive, send


@dataclass(frozen=True)
class Hello:
    """A lane's first message: which one it is, and where."""

    lane: int
    host: str
    process: int


@dataclass(frozen=True)
class Said:
    """Something that code in a lane has logged."""

    logger: str
    level: int
    text: str


@dataclass(frozen=True)
class Printed:
    """What code in a lane has printed: whole lines, with whose they are."""

    text: str


@dataclass(frozen=True)
class Beat:
    """A lane is alive."""


@dataclass(frozen=True)
class Hangs:
    """A lane has been at one record for too long, and ends.

    Args:
        seconds: for how long.
        stack: where it is.
    """

    seconds: float
    stack: str


Told: TypeAlias = Hello | Said | Printed | Beat | Hangs | Ready | Event


class Channel:
    """One end of a connection. Only for who has proved to be ours: what comes is unpickled.

    Args:
        connection: the socket.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, message: Told) -> None:
        """Send a message of the lane's.

        Raises:
            OSError: the other side is gone.
        """
        self.send_pickled(pickle.dumps(message))

    def send_pickled(self, data: bytes) -> None:
        """Send a message that was pickled before, as orders are: their functions go along by value.

        Raises:
            OSError: the other side is gone.
        """
        with self._sending:
            send(self._connection, data)

    def receive(self) -> Order | Told | None:
        """The next message; None when the other side is gone."""
        try:
            data = receive(self._connection)
        except OSError:
            return None
        found: Any = None if data is None else pickle.loads(data)  # noqa: S301 - see the class
        return found  # type: ignore[no-any-return]

    def close(self) -> None:
        """End it, for both sides."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class ToDriver(logging.Handler):
    """Sends what is logged to the driver.

    Args:
        channel: to the driver.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        """Send one line."""
        try:
            self._channel.send(Said(record.name, record.levelno, f"{PLACE}: {self.format(record)}"))
        except OSError:
            self.handleError(record)


class Lines(io.RawIOBase):
    """Sends what is printed to the driver, in whole lines.

    Args:
        channel: to the driver.
    """

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self._channel = channel
        self._begun = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        text = bytes(data)
        *lines, self._begun = (self._begun + text).split(b"\n")
        if lines:
            place = f"{PLACE}: "
            with contextlib.suppress(OSError):  # nobody is there to see it
                self._channel.send(Printed("".join(f"{place}{line.decode(errors='replace')}\n" for line in lines)))
        return len(text)

    def flush(self) -> None:
        """What was printed without the end of a line becomes a line."""
        if self._begun:
            self.write(b"\n")
