"""What the write-back caches of the store kinds share.

A cache holds objects, not bytes. Writes go to the cache; a flush serialises the last value of every dirty key, writes
it to the store below, and tells the listener, in the order of the keys' last writes. Flushed entries stay, to be read.

A cache is bounded by bytes, which it estimates: until something is serialised an entry counts as `ASSUMED_SIZE`. When
more entries are dirty than fit, all are flushed, the least recently written first. That decision depends on nothing but
the writes since the last commit, so a batch that is run again, in a process with another history, forwards the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from millstream.state.store import StoreContext

#: Bytes an entry is taken to need until the first flush tells better.
ASSUMED_SIZE = 512
#: Bytes of Python objects that an entry needs beside what is in its serialised key and value.
ENTRY_OVERHEAD = 256


class Budget:
    """How many entries a cache may hold."""

    __slots__ = ("_initial", "_max_bytes", "clean", "dirty")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._initial = max(1, max_bytes // ASSUMED_SIZE)
        #: Entries that may be dirty before all are flushed.
        self.dirty = self._initial
        #: Entries to keep after a flush, for reading.
        self.clean = self._initial

    def learn(self, count: int, size: int) -> None:
        """`count` entries were flushed, with `size` bytes of keys and values."""
        if count:
            self.dirty = self.clean = max(1, self._max_bytes // (ENTRY_OVERHEAD + size // count))

    def committed(self) -> None:
        """Start anew, so that the next batch does not depend on the last."""
        self.dirty = self._initial


@contextmanager
def record_context_kept(context: StoreContext) -> Iterator[None]:
    """Put the context's record back afterwards."""
    kept = context.topic, context.partition, context.offset, context.timestamp, context.headers
    try:
        yield
    finally:
        context.topic, context.partition, context.offset, context.timestamp, context.headers = kept
