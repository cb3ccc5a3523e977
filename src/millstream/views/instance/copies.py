"""Copies of stores, made of their changelogs."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from millstream.config import StreamsConfig
from millstream.errors import NotReady, NotUpToBound, OversizedScan, StateStoreError
from millstream.records import Headers
from millstream.state.store import LogRecord
from millstream.state.suppliers import StoreKind
from millstream.store_files import CheckpointEntry, TaskDirectory
from millstream.task.globals import GlobalState
from millstream.topology.topology import Topology
from millstream.views.answers import Answer, AnsweredBy, PartitionLag, Row
from millstream.views.catalogue import ViewStore
from millstream.views.instance import lookup
from millstream.views.instance.progress import Progress
from millstream.views.queries import CountQuery, Position, Query, RangeQuery, Requirements

log = logging.getLogger("millstream.views")

_KEY = itemgetter(0)


class Task(NamedTuple):
    """A task: its copies are on the same instances."""

    sub_topology: int
    partition: int

    @property
    def name(self) -> str:
        """As Kafka Streams calls it."""
        return f"{self.sub_topology}_{self.partition}"


class Records(NamedTuple):
    """Records of one changelog partition, in order: offsets, what stores take, and headers where they are heeded."""

    offsets: list[int]
    records: list[LogRecord]
    headers: list[Any]

    def since(self, offset: int) -> Records:
        """Those that come not before an offset."""
        start = bisect_left(self.offsets, offset)
        return self if start == 0 else Records(self.offsets[start:], self.records[start:], self.headers[start:])


class _Surroundings:
    """What a store asks of its task, in a view."""

    topic: str | None = None
    partition = -1
    offset = -1
    timestamp = 0
    headers: Headers | None = None
    cache_max_bytes = 0
    #: What is flushed must be on disk, where the next process finds it.
    store_memory_max_bytes = 0

    def __init__(self, directory: TaskDirectory | None) -> None:
        self._directory = directory

    def configure_rocksdb(self, store: str, options: Any) -> None:
        """Copies are opened with Millstream's options."""

    def store_directory(self, name: str) -> str | None:
        return None if self._directory is None else str(self._directory.store(name))

    def drop(self, who: str, reason: str) -> None:
        """What has expired is of no interest here."""

    def forwarding(self) -> None:
        """Nothing follows a copy."""


class Copy(ABC):
    """A copy of a store, or of one partition of it. Whoever uses it holds its lock.

    Args:
        view: the store.
        partition: which partition; 0 of a global store, of which there is one copy.
    """

    def __init__(self, view: ViewStore, partition: int) -> None:
        self.view = view
        self.partition = partition
        self.lock = threading.Lock()
        #: This instance is the one that answers for the partition, not one in reserve.
        self.owned = False
        self.closed = False
        #: What tells its topic from another of the same name.
        self.topic_id = ""
        #: How many records were applied since the copy was opened.
        self.applied = 0
        #: By partition of its topic.
        self.progress: dict[int, Progress] = {}
        self.store: Any

    @property
    def has_read_up(self) -> bool:
        """Whether it can be asked."""
        return not self.closed and all(at.current_at is not None for at in self.progress.values())

    @abstractmethod
    def apply(self, partition: int, taken: Records) -> None:
        """Apply records of a partition of the topic, in order. Those that it has already do no harm."""

    def reach(self, partition: int, offset: int) -> None:
        """There is nothing more to apply before this offset."""
        with self.lock:
            self.progress[partition].advance(offset)

    def look(self, partition: int, end: int, now: float) -> None:
        """The end of a partition of the topic was looked up."""
        with self.lock:
            self.progress[partition].look(end, now)

    @abstractmethod
    def begin_anew(self) -> None:
        """Forget everything: the topic is another one now, or has lost records that this copy lacks."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    # --- asking

    def answer(self, instance: str, query: Query, needs: Requirements, max_rows: int) -> Answer:
        """The answer of this copy.

        Raises:
            NotReady: it has not read up.
            NotUpToBound: it is older than the caller allows.
            OversizedScan: there are too many rows.
        """
        most = max_rows if needs.limit is None else min(needs.limit, max_rows)
        with self.lock:
            if not self.has_read_up:
                raise not_ready(self.view, self.partition)
            self._check(needs)
            if isinstance(query, CountQuery):
                rows, count = [], self.store.approximate_num_entries()
            else:
                rows, count = list(islice(self.rows(query, needs.after), most + 1)), None
            position, lag = self.position(), self.lag()
        more = len(rows) > most
        if more:
            if needs.limit is None or needs.limit > max_rows:
                raise oversized(self.view, max_rows)
            rows.pop()
        by = AnsweredBy(instance, not (self.owned or self.view.is_global))
        return Answer(rows, position, {self.partition: lag}, {self.partition: by}, more, count)

    @abstractmethod
    def rows(self, query: Query, behind: bytes | None) -> Iterable[Row]:
        """The rows that answer a question."""

    def position(self) -> Position:
        """How far it has applied its topic."""
        return Position({self.view.topic: {number: at.position for number, at in self.progress.items()}})

    def lag(self) -> PartitionLag:
        """How far it is behind."""
        now = time.monotonic()
        lags = [at.lag(now) for at in self.progress.values()]
        stale = [lag.stale_ms for lag in lags if lag.stale_ms is not None]
        return PartitionLag(
            sum(lag.position for lag in lags),
            sum(lag.end for lag in lags),
            max(stale, default=0) if len(stale) == len(lags) else None,
        )

    def is_fresh(self, seconds: float) -> bool:
        """Whether it was at the end not longer ago than this."""
        earliest = time.monotonic() - seconds
        return all(at.current_at is not None and at.current_at >= earliest for at in self.progress.values())

    def _check(self, needs: Requirements) -> None:
        if needs.bound is not None:
            for number, at in self.progress.items():
                bound = needs.bound.at(self.view.topic, number)
                if at.position < bound:
                    raise NotUpToBound(
                        f"partition {number} of store '{self.view.name}' is not up to the bound yet",
                        detail=f"its position is {at.position}, {bound} is required",
                        hint="try again in a moment",
                    )
        if needs.max_staleness is not None and not self.is_fresh(needs.max_staleness.total_seconds()):
            lag = self.lag()
            raise NotUpToBound(
                f"partition {self.partition} of store '{self.view.name}' is older than allowed",
                detail=f"it was up to date {lag.stale_ms} ms ago and lacks {lag.records} records",
                hint="try again in a moment, or allow a greater max_staleness",
            )


class PartitionCopy(Copy):
    """A copy of one partition of a store.

    Args:
        view: the store.
        partition: the partition.
        directory: the files of its task.
        topic_id: what tells its topic from another of the same name.
        checkpoint: up to where the files are good; None: not at all.
    """

    def __init__(
        self,
        view: ViewStore,
        partition: int,
        directory: TaskDirectory,
        topic_id: str,
        checkpoint: CheckpointEntry | None,
    ) -> None:
        super().__init__(view, partition)
        self.topic_id = topic_id
        self._directory = directory
        self._on_disk = view.supplier.persistent and view.supplier.max_entries is None
        known = (view.topic, topic_id)
        if not self._on_disk or checkpoint is None or (checkpoint.topic, checkpoint.topic_id) != known:
            checkpoint = None
        elif view.kind is StoreKind.VERSIONED_KEY_VALUE and not checkpoint.clean:
            checkpoint = None  # what a deletion leaves depends on the versions that were there when it came
        if checkpoint is not None:
            try:
                self._open(checkpoint.offset)
                return
            except StateStoreError as error:
                log.warning("the copy of store '%s' in %s is made anew: %s", view.name, directory.path, error)
        directory.wipe(view.name)
        self._open(0)

    def _open(self, offset: int) -> None:
        self.progress = {self.partition: Progress(offset)}
        self.store = self.view.of_bytes().build()
        self.store.init(_Surroundings(self._directory))

    def apply(self, partition: int, taken: Records) -> None:
        with self.lock:
            at = self.progress[partition]
            offsets, records, _ = taken.since(at.position)
            if not offsets:
                return
            if None in map(_KEY, records):  # a topic that others write may have those, which tables leave out
                records = [record for record in records if record[0] is not None]
            self.store.apply_records(records)
            self.applied += len(offsets)
            at.advance(offsets[-1] + 1)

    def begin_anew(self) -> None:
        with self.lock:
            self.store.close()
            self._directory.wipe(self.view.name)
            self._open(0)

    def checkpoint(self, *, clean: bool) -> CheckpointEntry | None:
        """Hand everything to the disk; None if the copy is in memory."""
        if not self._on_disk:
            return None
        with self.lock:
            self.store.flush()
            return CheckpointEntry(self.view.topic, self.topic_id, self.progress[self.partition].position, clean)

    def close(self) -> None:
        with self.lock:
            self.closed = True
            self.store.close()

    def rows(self, query: Query, behind: bytes | None) -> Iterable[Row]:
        return lookup.rows(self.store, query, behind)

    def lag(self) -> PartitionLag:
        return self.progress[self.partition].lag(time.monotonic())

    def find(self, key: bytes) -> tuple[Row, PartitionLag] | None:
        """The row of one key, and how far the copy is; None if it has no such row, or cannot be asked yet.

        The short way of `answer` where nothing is required, for stores that have one row for a key.
        """
        with self.lock:
            row = lookup.row(self.store, key) if self.has_read_up else None
            return None if row is None else (row, self.lag())


class TaskCopies:
    """The copies of one task, and their checkpoint.

    Args:
        task: the task.
        views: its stores, each with the id of its topic.
        directory: where its files are.
    """

    def __init__(self, task: Task, views: Iterable[tuple[ViewStore, str]], directory: Path) -> None:
        self.task = task
        self._directory = TaskDirectory(directory / task.name)
        known = self._directory.read_checkpoint()
        self.copies: list[PartitionCopy] = []
        try:
            for view, topic_id in views:
                copy = PartitionCopy(view, task.partition, self._directory, topic_id, known.get(view.name))
                self.copies.append(copy)
        except BaseException:
            for copy in self.copies:
                copy.close()
            raise
        self._saved: list[int] = []
        self.save()  # not clean from now on

    def save(self, *, clean: bool = False) -> None:
        """Write the checkpoint, if there is something new."""
        positions = [copy.progress[self.task.partition].position for copy in self.copies]
        if positions == self._saved and not clean:
            return
        entries = {copy.view.name: copy.checkpoint(clean=clean) for copy in self.copies}
        self._directory.write_checkpoint({name: entry for name, entry in entries.items() if entry is not None})
        self._saved = positions

    def close(self) -> None:
        """Close the copies, cleanly."""
        self.save(clean=True)
        for copy in self.copies:
            copy.close()


class GlobalCopy(Copy):
    """A global store, as tasks see it: in memory, and made anew at every start. Its processor may be a user's.

    Args:
        view: the store.
        topology: the application's topology.
        config: the application's configuration.
        partitions: how many partitions its topic has.
    """

    def __init__(self, view: ViewStore, topology: Topology, config: StreamsConfig, partitions: int) -> None:
        super().__init__(view, 0)
        self._topology = topology
        self._config = replace(config, state_dir=None, statestore_cache_max_bytes=0)
        self._partitions = partitions
        self._open()

    def _open(self) -> None:
        self._state = GlobalState(self._topology, self._config)
        self.store = self._state.stores[self.view.name]
        self.progress = {number: Progress() for number in range(self._partitions)}

    def apply(self, partition: int, taken: Records) -> None:
        with self.lock:
            at = self.progress[partition]
            offsets, records, headers = taken.since(at.position)
            if not offsets:
                return
            raw = [(*record, pairs, offset) for record, pairs, offset in zip(records, headers, offsets, strict=True)]
            self._state.apply(self.view.topic, partition, raw)
            self.applied += len(offsets)
            at.advance(offsets[-1] + 1)

    def begin_anew(self) -> None:
        with self.lock:
            self._state.close()
            self._open()

    def close(self) -> None:
        with self.lock:
            self.closed = True
            self._state.close()

    def rows(self, query: Query, behind: bytes | None) -> Iterable[Row]:
        """Its store is one of objects: keys become objects on the way in, keys and values bytes on the way out."""
        key, value = self.view.key, self.view.value
        found = lookup.rows(self.store, query.with_keys(key.deserialize))
        rows = (row._replace(key=key.serialize(row.key), value=value.serialize(row.value)) for row in found)
        if behind is None:
            return rows
        if isinstance(query, RangeQuery) and query.reverse:
            return (row for row in rows if row.key < behind)
        return (row for row in rows if row.key > behind)


def not_ready(view: ViewStore, partition: int) -> NotReady:
    """What to raise while no copy can answer."""
    return NotReady(
        f"partition {partition} of store '{view.name}' cannot be asked right now",
        detail="it is on the move, or its copy has not read up yet",
        hint="try again in a moment",
    )


def oversized(view: ViewStore, max_rows: int) -> OversizedScan:
    """What to raise when there are too many rows."""
    return OversizedScan(
        f"the answer of store '{view.name}' has more than {max_rows} rows",
        hint="ask for less, set a limit, or take it page by page",
    )
