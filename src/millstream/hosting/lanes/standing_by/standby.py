"""The stores of a task that another lane has, kept warm."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from millstream.changelogs import Changelog
from millstream.errors import StateStoreError
from millstream.hosting.context import NO_THROTTLE, PlacedContext
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.standing_by.places import Place
from millstream.hosting.task_changes import redo
from millstream.kafka.admin import Admin, Partition
from millstream.state.backends.completeness import mark_complete
from millstream.state.builders import StoreBuilder
from millstream.state.store import StateStore
from millstream.store_files import CheckpointEntry
from millstream.task.context import host_context
from millstream.task.records import RawRecord
from millstream.task.stores import TaskStores

log = logging.getLogger("millstream.lanes")

#: Files that nobody has used for longer may lack deletions that their changelog has forgotten by now: Kafka keeps them
#: for a day (`delete.retention.ms`).
_BELIEVED_SECONDS = 3600.0


def followed(query: HostedQuery, task_id: HostedTaskId) -> dict[str, Changelog]:
    """The changelogs of a task's stores that can be kept warm, by store.

    Not a table that is read straight from a topic: that is ahead of what its task has processed. And not one in a map
    of the user's own, of which nobody knows what it does with its directory.
    """
    return {
        name: log
        for name, log in query.changelogs.items()
        if log.sub_topology == task_id.sub_topology
        and not log.is_source
        and getattr(getattr(query.topology.stores[name], "supplier", None), "open_map", None) is None
    }


class Warm:
    """What a standby leaves to the lane that goes on with its task; for that one alone.

    Args:
        place: where stores on disk are, closed and complete.
        positions: how far changelogs are applied.
        ids: the ids of the changelogs' topics, by store.
        in_memory: the other stores.
    """

    def __init__(
        self,
        place: Place,
        positions: Mapping[Partition, int],
        ids: Mapping[str, str],
        in_memory: Mapping[str, StateStore],
    ) -> None:
        self.place = place
        self.positions = positions
        self.ids = ids
        self._in_memory = in_memory

    @property
    def path(self) -> Path:
        """Where a task with these stores must have its files."""
        return self.place.path

    def pour(self, stores: Mapping[str, StateStore]) -> None:
        """Fill stores with what is not on disk."""
        for name, store in self._in_memory.items():
            stores[name].apply_changes(store.snapshot())
            store.close()

    def discard(self) -> None:
        """It is of no use, or not any more. Safe to call again."""
        self.place.release(keep=False)


def believed(warm: Warm, query: HostedQuery, admin: Admin, ends: Mapping[Partition, int]) -> Mapping[Partition, int]:
    """How far the stores of a standby are, after a look whether its changelogs are still what it was made of.

    Raises:
        StateStoreError: they are not.
    """
    for name, topic_id in warm.ids.items():
        if query.changelog_ids.get(name, "") != topic_id:
            raise StateStoreError(f"the changelog of store '{name}' was deleted and made again")
    begins = admin.begin_offsets(warm.positions)
    for at, position in warm.positions.items():
        if position and not begins[at] <= position <= ends[at]:
            raise StateStoreError(
                f"changelog {at[0]}-{at[1]} has lost records",
                detail=f"it goes from {begins[at]} to {ends[at]}, and the standby is at {position}",
            )
    return warm.positions


def left_behind(query: HostedQuery, task_id: HostedTaskId, own: Path) -> Warm | None:
    """What another lane has left of a task on this machine; None if that is nothing.

    Args:
        query: whose task it is.
        task_id: which.
        own: the lane's own directory.
    """
    if query.config.state_dir is None or not followed(query, task_id):
        return None
    place = Place(query.config, task_id.name, own)
    if not place.is_kept or not place.files.saved_at():
        place.release(keep=True)
        return None
    try:
        return Standby(query, task_id, place).hand_over()
    except Exception as error:
        log.warning("what was left of task %s on this machine cannot be used: %s", task_id.name, error)
        place.release(keep=False)
        return None


def leave_behind(
    query: HostedQuery,
    task_id: HostedTaskId,
    databases: Mapping[str, str],
    ends: Mapping[Partition, int],
    warm: Warm | None,
    own: Path,
) -> None:
    """Leave the stores of a task to the next lane on this machine, where another lane has not a standby of it.

    Args:
        query: whose task it is.
        task_id: which.
        databases: where the stores are, closed and complete; on the file system of the `state_dir`.
        ends: how far changelogs are applied.
        warm: what the task was made of.
        own: the lane's own directory.
    """
    if warm is not None and warm.place.is_kept:
        place = warm.place
    else:
        place = Place(query.config, task_id.name, own)
    if not place.is_kept:
        place.release(keep=True)
        return
    is_left = False
    try:
        place.files.forget_checkpoint()
        entries = {}
        for name, log in followed(query, task_id).items():
            if name in databases:
                if Path(databases[name]) != place.files.store(name):
                    place.files.wipe(name)
                    place.path.mkdir(exist_ok=True)
                    Path(databases[name]).rename(place.files.store(name))
                topic_id, layout = query.changelog_ids.get(name, ""), _layout(query.topology.stores[name])
                end = ends[log.topic, task_id.partition]
                entries[name] = CheckpointEntry(log.topic, topic_id, end, clean=True, layout=layout)
        if entries:
            place.files.write_checkpoint(entries)
        is_left = bool(entries)
    finally:
        place.release(keep=is_left)


class Standby:
    """The stores of a task, filled from their changelogs as far as these are committed.

    All rows of persistent stores are on disk, with no memory in front: what others need of it stays free, and the next
    process can go on with the files. Whoever uses it holds its lock.

    Args:
        query: whose task it is.
        task_id: which.
        place: where its files are.
    """

    def __init__(self, query: HostedQuery, task_id: HostedTaskId, place: Place) -> None:
        self.query = query
        self.id = task_id
        self.lock = threading.Lock()
        self.is_open = True
        #: How many records its changelogs have that it lacks; None: not known yet.
        self.lag: int | None = None
        self._place = place
        self._logs = followed(query, task_id)
        self._layouts = _layouts(query, task_id)
        self.positions: dict[Partition, int] = self._kept_positions()
        try:
            self._stores = self._opened()
        except StateStoreError as error:
            log.warning(
                "what task %s had in reserve on this machine is damaged, and is made anew: %s", self.name, error
            )
            self.positions = dict.fromkeys(self.positions, 0)
            self._stores = self._opened()
        self._on_disk = {name for name in self._logs if place.files.store(name).exists()}
        self._saved: dict[Partition, int] | None = None
        self.save()  # not clean from now on

    @property
    def name(self) -> str:
        """The task's name."""
        return self.id.name

    @property
    def ids(self) -> dict[str, str]:
        """The ids of its changelogs' topics, by store."""
        return {name: self.query.changelog_ids.get(name, "") for name in self._logs}

    def fits(self, query: HostedQuery) -> bool:
        """Whether a query's task of that name has the same stores: one may have come in the place of another."""
        return (
            self.id in query.tasks
            and _layouts(query, self.id) == self._layouts
            and all(query.changelog_ids.get(name, "") == topic_id for name, topic_id in self.ids.items())
        )

    def apply(self, partition: Partition, records: list[RawRecord]) -> None:
        """Take records of a changelog, in order."""
        at = self.positions[partition]
        new = records if records[0][4] >= at else [record for record in records if record[4] >= at]
        if new:
            redo(self._stores.by_name[self._store_of(partition)], new)
            self.positions[partition] = new[-1][4] + 1

    def reach(self, partition: Partition, offset: int) -> None:
        """There is nothing more to apply before an offset."""
        self.positions[partition] = max(self.positions[partition], offset)

    def save(self, *, clean: bool = False) -> None:
        """Have files say how far they are, if somebody can find them later and there is something new."""
        if not self._place.is_kept or (self._saved == self.positions and not clean):
            return
        entries = {}
        for name in sorted(self._on_disk):
            self._stores.by_name[name].flush()
            at = self._partition_of(name)
            topic_id, layout = self.query.changelog_ids.get(name, ""), self._layouts[name]
            entries[name] = CheckpointEntry(at[0], topic_id, self.positions[at], clean, layout)
        self._place.files.write_checkpoint(entries)
        self._saved = dict(self.positions)

    def hand_over(self) -> Warm | None:
        """Leave everything to who goes on with the task; None if there is nothing."""
        if not any(self.positions.values()):
            self.close(keep=False)
            return None
        self.is_open = False
        try:
            self._place.files.forget_checkpoint()  # from now on files lack what is in memory
            in_memory = {}
            for name, store in self._stores.by_name.items():
                if name in self._on_disk:
                    store.close()
                    mark_complete(self._place.files.store(name))
                else:
                    in_memory[name] = store
        except BaseException:
            self._place.release(keep=False)
            raise
        return Warm(self._place, dict(self.positions), self.ids, in_memory)

    def close(self, *, keep: bool) -> None:
        """Stand by no more; the files may be kept for who does so next."""
        self.is_open = False
        try:
            if keep:
                self.save(clean=True)
        finally:
            with suppress(Exception):  # the files go, or are as good as their checkpoint
                self._stores.close()
            self._place.release(keep=keep)

    def _partition_of(self, store: str) -> Partition:
        return self._logs[store].topic, self.id.partition

    def _store_of(self, partition: Partition) -> str:
        return next(name for name, log in self._logs.items() if log.topic == partition[0])

    def _kept_positions(self) -> dict[Partition, int]:
        """How far the files are that somebody has left, if they can be believed; the others are removed."""
        files, found = self._place.files, {}
        known = files.read_checkpoint()
        if time.time() > files.saved_at() + _BELIEVED_SECONDS:
            known = {}
        for name, log in self._logs.items():
            entry, topic_id = known.get(name), self.query.changelog_ids.get(name, "")
            wanted = (log.topic, topic_id, self._layouts[name])
            if (
                entry is not None
                and topic_id
                and (entry.topic, entry.topic_id, entry.layout) == wanted
                # What a deletion leaves in a versioned store depends on the versions that were there when it came.
                and (entry.clean or not getattr(self.query.topology.stores[name], "is_versioned", False))
            ):
                found[self._partition_of(name)] = entry.offset
            else:
                found[self._partition_of(name)] = 0
        return found

    def _opened(self) -> TaskStores:
        for name in self._logs:
            if not self.positions[self._partition_of(name)]:
                self._place.files.wipe(name)
        config = self.query.config
        context = host_context(config, self.id.name, PlacedContext, defaults=NO_THROTTLE)
        context.state_directory = self._place.path
        context.cache_max_bytes = context.store_memory_max_bytes = 0
        stores = TaskStores(self.query.topology, self._logs, context, config)
        stores.open()
        return stores


def _layouts(query: HostedQuery, task_id: HostedTaskId) -> dict[str, str]:
    return {name: _layout(query.topology.stores[name]) for name in followed(query, task_id)}


def _layout(builder: object) -> str:
    """How rows lie in a store: what must be the same for its files to be of use."""
    if isinstance(builder, StoreBuilder):
        return f"{builder.kind.value}, {replace(builder.supplier, name=builder.name)}"
    return type(builder).__name__
