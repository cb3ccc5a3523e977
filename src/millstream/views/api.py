"""`Views`: asking the stores of an application."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import Any

from millstream.config import StreamsConfig
from millstream.errors import KeyRefused, MillstreamError, NotReady, ViewError
from millstream.kafka.embedded import with_broker
from millstream.kafka.partitioner import partition_for
from millstream.serdes.serde import AnySerde
from millstream.topology.topology import Topology
from millstream.views import catalogue
from millstream.views.answers import (
    Answer,
    Instance,
    KeyMetadata,
    PartitionLag,
    Row,
    StoreDescription,
    StoreMetadata,
)
from millstream.views.catalogue import ViewStore
from millstream.views.instance import lookup
from millstream.views.instance.announcements import Announcement
from millstream.views.instance.copies import Copy, Task
from millstream.views.instance.files import kept_instance_id, views_directory
from millstream.views.instance.server import ViewServer
from millstream.views.queries import NO_REQUIREMENTS, PrefixQuery, Query, RangeQuery, Requirements
from millstream.views.questions.asking import Asking
from millstream.views.questions.remote import Remote

_POLL_SECONDS = 0.02


class Views:
    """The views of one instance of an application: its copies of stores, and the way to those of others.

    Args:
        topology: the application's topology.
        config: the application's configuration.
        instance: this instance; by default one with a name that is kept in the state directory, and no address.
        remote: how other instances are asked; without one, only what is here is answered.
        max_rows: how many rows an answer may have.
        alone: this instance has copies of everything, and shares nothing with others.
    """

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        *,
        instance: Instance | None = None,
        remote: Remote | None = None,
        max_rows: int = 100_000,
        alone: bool = False,
    ) -> None:
        self._is_alone = alone
        self._topology = topology
        self._config = config
        self._stores = catalogue.view_stores(topology, config)
        self._instance = instance or Instance(kept_instance_id(config))
        self._remote = remote
        self._max_rows = max_rows
        self._lock = Lock()
        self._server: ViewServer | None = None
        self._asking: Asking | None = None

    # --- life

    def start(self) -> None:
        """Begin to read; returns at once. Until copies have read up, questions raise `NotReady`.

        Raises:
            StateStoreError: another process uses the state directory.
        """
        with self._lock:
            if self._server is None:
                self._server = ViewServer(
                    self._topology,
                    with_broker(self._config),
                    self._stores.values(),
                    self._instance,
                    views_directory(self._config),
                    alone=self._is_alone,
                )
                self._asking = Asking(self._server, self._instance, self._remote, self._max_rows)

    def close(self) -> None:
        """Leave the others and close the copies. Safe to call again."""
        with self._lock:
            server, self._server, self._asking = self._server, None, None
        if server is not None:
            server.close()

    def is_ready(self, store: str | None = None) -> bool:
        """Whether every partition of a store, or of all, is answered by some instance that is alive."""
        views = self._stores.values() if store is None else [self.find(store)]
        try:
            return all(self._is_ready(view) for view in views)
        except NotReady:
            return False

    def wait_until_ready(self, store: str | None = None, timeout: timedelta = timedelta(seconds=30)) -> None:
        """Wait until a store, or all, can be asked.

        Raises:
            NotReady: that is not so after the timeout.
        """
        server, _ = self._running()
        deadline = time.monotonic() + timeout.total_seconds()
        while not self.is_ready(store):
            if time.monotonic() > deadline:
                server.check()
                raise NotReady(
                    "the views are not ready" if store is None else f"store '{store}' cannot be asked yet",
                    detail=f"its copies have not read up after {timeout.total_seconds():.0f} s",
                    hint="try again, or wait longer",
                )
            time.sleep(_POLL_SECONDS)

    def _is_ready(self, view: ViewStore) -> bool:
        server, asking = self._running()
        layout = server.check()
        if view.is_global:
            copy = server.reading.copies.get((view.name, 0))
            return copy is not None and copy.has_read_up
        return all(asking.candidates(view, number) for number in range(layout.partitions[view.topic]))

    # --- what there is

    @property
    def instance(self) -> Instance:
        """This instance."""
        return self._instance

    def instances(self) -> list[Instance]:
        """All instances that are alive, this one included."""
        return [member.instance for member in self._alive().values()]

    def stores(self) -> dict[str, StoreDescription]:
        """The stores that can be asked, by name."""
        server = self._server
        counts = {} if server is None or server.layout is None else server.layout.partitions
        return {
            view.name: StoreDescription(
                view.name,
                view.kind,
                view.topic,
                1 if view.is_global else counts.get(view.topic),
                view.is_global,
                view.supplier.window_size_ms,
            )
            for view in self._stores.values()
        }

    def key_serde(self, store: str) -> AnySerde:
        """The serde of a store's keys."""
        return self.find(store).key

    def value_serde(self, store: str) -> AnySerde:
        """The serde of a store's values."""
        return self.find(store).value

    # --- asking

    def ask(self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS) -> Answer:
        """The answer to a question, from wherever its partitions are; keys and values are objects.

        Raises:
            ViewError: there is none, or not now (`retriable`).
        """
        view = self.find(store)
        return _of_objects(view, self._ask(view, self._of_bytes(view, query), requirements))

    def pages(
        self, store: str, query: Query, requirements: Requirements = NO_REQUIREMENTS, *, rows: int = 1000
    ) -> Iterator[Answer]:
        """A scan over keys, so many rows at a time, however many there are. Other questions have one page.

        A page is as new as it is when its turn comes.
        """
        view = self.find(store)
        asked = self._of_bytes(view, query)
        if not isinstance(query, RangeQuery | PrefixQuery):
            yield _of_objects(view, self._ask(view, asked, requirements))
            return
        left = requirements.limit
        while True:
            size = rows if left is None else min(rows, left)
            answer = self._ask(view, asked, replace(requirements, limit=size))
            yield _of_objects(view, answer)
            left = None if left is None else left - len(answer.rows)
            if not answer.more or left == 0:
                return
            requirements = replace(requirements, after=answer.rows[-1].key)

    def ask_here(self, store: str, query: Query, requirements: Requirements, partitions: Collection[int]) -> Answer:
        """The answer of this instance alone, for another one; keys and values are bytes.

        Raises:
            PartitionNotHere: there is no copy of a partition here that has read up.
        """
        view = self.find(store)
        lookup.check(view.name, view.kind, query)
        server, asking = self._running()
        server.check()
        return asking.here(view, query, requirements, partitions)

    def _ask(self, view: ViewStore, query: Query, needs: Requirements) -> Answer:
        return self._running()[1].ask(view, query, needs)

    # --- where things are

    def metadata_for_key(self, store: str, key: Any) -> KeyMetadata:
        """Which instance has a key."""
        view = self.find(store)
        data = serialized(view, key)
        server, asking = self._running()
        layout = server.check()
        if view.is_global:
            return KeyMetadata(
                None, self._instance, tuple(other for other in self.instances() if other != self._instance)
            )
        partition = partition_for(data, layout.partitions[view.topic])
        able = asking.candidates(view, partition)
        return KeyMetadata(partition, able[0] if able else None, tuple(able[1:]))

    def metadata_for_store(self, store: str) -> list[StoreMetadata]:
        """Which instances have what of a store."""
        view = self.find(store)
        server, _ = self._running()
        layout = server.check()
        if view.is_global:
            return [StoreMetadata(instance, frozenset((0,)), frozenset()) for instance in self.instances()]
        count = layout.partitions[view.topic]
        tasks = {number: Task(view.sub_topology or 0, number).name for number in range(count)}
        found = []
        for member in self._alive().values():
            held = {number for number, task in tasks.items() if view.name in member.copies.get(task, {})}
            owned = {number for number, task in tasks.items() if task in member.owned}
            if held or owned:
                found.append(StoreMetadata(member.instance, frozenset(owned), frozenset(held - owned)))
        return found

    def local_partition_lags(self) -> dict[str, dict[int, PartitionLag]]:
        """How far the copies of this instance are behind, by store and partition; asks the broker."""
        server, _ = self._running()
        server.check()
        copies = list(server.reading.copies.values())
        server.look_now(copies)
        found: dict[str, dict[int, PartitionLag]] = {name: {} for name in self._stores}
        for copy in copies:
            with copy.lock:
                found[copy.view.name][copy.partition] = copy.lag()
        return found

    # --- for views of this process

    def find(self, store: str) -> ViewStore:
        """A store that can be asked.

        Raises:
            UnknownStore: there is none of that name.
        """
        return catalogue.find(self._stores, store, self._topology)

    def local_copies(self) -> dict[tuple[str, int], Copy]:
        """The copies of this instance, by store and partition: the short way for single keys."""
        return self._running()[0].reading.copies

    def partitions_of(self, view: ViewStore) -> int:
        """How many partitions a store has."""
        return 1 if view.is_global else self._running()[0].check().partitions[view.topic]

    def _running(self) -> tuple[ViewServer, Asking]:
        server, asking = self._server, self._asking
        if server is None or asking is None:
            raise NotReady("the views are not running", hint="call start() first")
        return server, asking

    def _alive(self) -> dict[str, Announcement]:
        return dict(self._running()[0].members.alive)

    def _of_bytes(self, view: ViewStore, query: Query) -> Query:
        lookup.check(view.name, view.kind, query)
        return query.with_keys(lambda key: serialized(view, key))


def serialized(view: ViewStore, key: Any) -> bytes:
    """A key as bytes.

    Raises:
        KeyRefused: the store's serde does not take it.
    """
    if key is None:
        raise KeyRefused(f"store '{view.name}' takes no None as a key")
    try:
        return view.key.serialize(key)
    except Exception as error:
        told = view.key.serialization_error(key, error)
        raise KeyRefused(
            f"store '{view.name}' does not take this key: {told.primary}", detail=told.detail, hint=told.hint
        ) from error


def of_objects(view: ViewStore, row: Row) -> Row:
    """A row of bytes as one of objects."""
    return Row(view.key.deserialize(row[0]), view.value.deserialize(row[1]), *row[2:])


def _of_objects(view: ViewStore, answer: Answer) -> Answer:
    try:
        rows = [of_objects(view, row) for row in answer.rows]
    except MillstreamError:
        raise
    except Exception as error:
        raise ViewError(
            f"rows of store '{view.name}' cannot be read with its serdes",
            detail=f"{type(error).__name__}: {error}",
            hint="the store was written with other serdes: reset the application, or give those",
        ) from error
    return replace(answer, rows=rows)
