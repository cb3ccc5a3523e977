"""A thread that reads topics for somebody, until one of them has enough."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Protocol

from millstream.errors import MillstreamError, StreamsError
from millstream.hosting.transient.reader import Batch, Reader

_LOG = logging.getLogger(__name__)
#: How long a thread sleeps at most when no record comes: then it looks whether it is to end.
_SECONDS = 1.0


class Work(Protocol):
    """What is done with what is read. Called by the loop's thread only."""

    def patience(self) -> float:
        """For how many seconds nothing needs to be done unless records come."""

    def process(self, reader: Reader, batch: Batch) -> bool:
        """Take what was read, perhaps nothing; False if that was enough.

        Raises:
            MillstreamError: it cannot go on.
        """

    def ended(self, error: MillstreamError | None) -> None:
        """Nothing more is read."""


class ReadingLoop:
    """Reads for some work, in a thread of its own.

    Args:
        name: of the thread.
        open_reader: what to read; called by the thread.
        work: what to do with it.
    """

    def __init__(self, name: str, open_reader: Callable[[], Reader], work: Work) -> None:
        self._open_reader = open_reader
        self._work = work
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Have it end soon. Safe to call again, and from any thread."""
        self._stopping.set()

    @property
    def is_running(self) -> bool:
        """Whether it has begun and not ended."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> bool:
        """Wait until it has ended; False if that takes longer."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        failure: MillstreamError | None = None
        try:
            with closing(self._open_reader()) as reader:
                while not self._stopping.is_set():
                    batch = reader.read(min(_SECONDS, self._work.patience()))
                    if not self._work.process(reader, batch):
                        break
        except MillstreamError as error:
            failure = error
        except Exception as error:
            _LOG.exception("%s failed", self._thread.name)
            failure = StreamsError("something unexpected happened", detail=f"{type(error).__name__}: {error}")
            failure.__cause__ = error
        self._work.ended(failure)
