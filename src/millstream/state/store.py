"""The interface every state store has, built-in or custom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from millstream.records import Headers

#: What `write` of a versioned store answers when the record is older than its history retention.
NOT_STORED = -(2**63)
#: What `write` answers when the value written is the newest of its key (always, but for versioned stores).
LATEST = -1

#: One change of a store: the binary key under which the store logs it, and the value (None deletes).
LogEntry = tuple[bytes, bytes | None]
#: One record of a changelog topic: its key, its value (None deletes), and its timestamp.
LogRecord = tuple[bytes, bytes | None, int]
#: Headers of a record, as clients have them.
RawHeaders = list[tuple[str, bytes | None]] | None
#: The same with the record's headers, for stores that keep them.
HeaderLogRecord = tuple[bytes, bytes | None, int, RawHeaders]

#: `fold(key, value, timestamp, headers)`: bring a value into the aggregate of its key.
Fold = Callable[[Any, Any, int, Headers | None], None]
#: `fold(key, start, value, timestamp, headers)`: the same for the aggregate of a window.
WindowFold = Callable[[Any, int, Any, int, Headers | None], None]


class StoreContext(Protocol):
    """What a store may ask of its task (`millstream.processors.context.TaskContext` is one)."""

    topic: str | None
    partition: int
    offset: int
    timestamp: int
    headers: Headers | None

    @property
    def cache_max_bytes(self) -> int:
        """0 strips the cache."""

    @property
    def store_memory_max_bytes(self) -> int:
        """What rows of persistent stores may take of memory; 0 has them all on disk, complete after each flush."""

    def store_directory(self, name: str) -> str | None:
        """The directory for a persistent store's files; None keeps it in memory, with the same semantics."""

    def configure_rocksdb(self, store: str, options: Any) -> None:
        """Change the options (`rocksdict.Options`) that a store's database is opened with."""

    def drop(self, who: str, reason: str) -> None:
        """Count a write that is refused."""

    def forwarding(self) -> None:
        """A cache has written down what it held, and begins to forward it."""


class StateStore(ABC):
    """A store as its task sees it.

    Reading and writing is the business of the store's own interface; the task opens, flushes and closes it, takes its
    changes of a batch, and rebuilds it from them.
    """

    #: False: changes are neither kept nor asked for.
    logged: bool = True
    #: True: its records in a changelog have headers. `header_log_records` and `apply_header_records` are then used.
    keeps_headers: bool = False

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def init(self, context: StoreContext) -> None:
        """Open the store."""

    def flush(self) -> None:
        """Write a cache down, and forward what it held (nothing to do without a cache)."""

    def is_flushed(self) -> bool:
        """Whether a cache holds nothing that was not written down."""
        return True

    def forget_expired(self) -> None:
        """Make a flushed cache forget what the store below has forgotten, so that it shows the same as a new one."""

    @abstractmethod
    def close(self) -> None:
        """Close the store. What was not flushed is lost."""

    def close_complete(self) -> str | None:
        """Close the flushed store, but leave a database with all rows, as a store without memory in front has it.

        Answers where that is; None if the store has none.
        """
        self.close()
        return None

    @abstractmethod
    def take_changes(self) -> dict[bytes, bytes | None]:
        """The changes since the last call: the last write of every binary key, in order of first write."""

    @abstractmethod
    def apply_changes(self, changes: Iterable[LogEntry]) -> None:
        """Redo logged changes, without logging them or forwarding anything.

        Called between two batches, when a cache is flushed; it must not show what was there before.
        """

    @abstractmethod
    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        """Everything the store holds, as log entries: a base from which it can be rebuilt."""

    def log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[LogRecord]:
        """Changes as the records of a changelog topic, laid out as Kafka Streams does.

        Args:
            changes: what `take_changes` answered.
            time: the time of records that have none of their own.
        """
        return ((key, value, time) for key, value in changes.items())

    def apply_records(self, records: Iterable[LogRecord]) -> None:
        """Redo the records of a changelog topic; see `apply_changes`."""
        self.apply_changes((key, value) for key, value, _ in records)

    def header_log_records(self, changes: Mapping[bytes, bytes | None], time: int) -> Iterable[HeaderLogRecord]:
        """The same as `log_records`, with headers."""
        return ((*record, None) for record in self.log_records(changes, time))

    def apply_header_records(self, records: Iterable[HeaderLogRecord]) -> None:
        """The same as `apply_records`, with headers."""
        self.apply_records((key, value, timestamp) for key, value, timestamp, _ in records)

    def clock(self) -> LogEntry | None:
        """What the store knows of the time beside its rows, as a change; None if that is nothing."""
        return None


#: Told at a flush: key, new value, old value, timestamp, headers.
KeyValueListener = Callable[[Any, Any, Any, int, Headers | None], None]
#: Told at a flush: key, window start, new value, old value, timestamp, headers.
WindowListener = Callable[[Any, int, Any, Any, int, Headers | None], None]
#: Told at a flush: key, session start, session end, new value, old value, timestamp, headers.
SessionListener = Callable[[Any, int, int, Any, Any, int, Headers | None], None]
