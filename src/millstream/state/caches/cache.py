"""What the write-back caches of the store kinds share.

A cache holds objects, not bytes. Writes go to the cache; a flush serialises the last value of every dirty key, writes
it to the store below, and tells the listener, in the order of the keys' last writes. Flushed entries stay, to be read.

A cache is bounded by bytes, which it estimates: until something is serialised an entry counts as `ASSUMED_SIZE`. When
more entries are dirty than fit, all are flushed, the least recently written first. That decision depends on nothing but
the writes since the last commit, so a batch that is run again, in a process with another history, forwards the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from millstream.records import Headers
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


#: Topic, partition and headers of a record.
Origin = tuple[str | None, int, Headers | None]


class Entries:
    """The entries of a cache: a column for each thing that is known of them, an entry being a number, its *slot*.

    Nearly every record of an aggregation writes to an entry that is in no processor cache. Objects kept by an entry
    would be released there and others retained, all over the heap; a column of machine integers is written in place.
    """

    __slots__ = ("_free", "keys", "numbers", "offsets", "origins", "times", "values", "written")

    def __init__(self) -> None:
        self.keys: list[Any] = []
        #: None: the entry is a deletion.
        self.values: list[Any] = []
        #: The timestamp of the value, or of the deletion.
        self.times = array("q")
        #: The number of the last write: the order in which entries are flushed, and forgotten.
        self.numbers = array("q")
        #: Where the last write came from, while the entry is dirty; None when it is clean. Records in a row share one.
        self.origins: list[Origin | None] = []
        self.offsets = array("q")
        #: The dirty slots.
        self.written: dict[int, None] = {}
        self._free: list[int] = []

    def add(self, key: Any) -> int:
        """A new clean entry, without a value."""
        if self._free:
            slot = self._free.pop()
            self.keys[slot] = key
            return slot
        self.keys.append(key)
        self.values.append(None)
        self.origins.append(None)
        self.times.append(0)
        self.numbers.append(0)
        self.offsets.append(0)
        return len(self.keys) - 1

    def remove(self, slot: int) -> None:
        """Forget an entry."""
        self.keys[slot] = self.values[slot] = self.origins[slot] = None
        self.written.pop(slot, None)
        self._free.append(slot)

    def take_written(self) -> list[int]:
        """The dirty slots in the order of their last writes; what is written from now on is dirty anew."""
        batch = sorted(self.written, key=self.numbers.__getitem__)
        self.written.clear()
        return batch

    def clear(self) -> None:
        """Forget all entries."""
        for column in (self.keys, self.values, self.times, self.numbers, self.origins, self.offsets, self._free):
            del column[:]
        self.written.clear()


@contextmanager
def record_context_kept(context: StoreContext) -> Iterator[None]:
    """Put the context's record back afterwards."""
    kept = context.topic, context.partition, context.offset, context.timestamp, context.headers
    try:
        yield
    finally:
        context.topic, context.partition, context.offset, context.timestamp, context.headers = kept
