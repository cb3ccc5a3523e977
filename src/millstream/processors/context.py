"""What operators and stores can ask of the task they live in."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from millstream.errors import StateStoreError
from millstream.records import NO_TIMESTAMP, Headers

log = logging.getLogger("millstream.task")


class TaskContext:
    """The surroundings of a task's operators and stores; one per task.

    `topic`, `partition` and `offset` belong to the input record in process. `timestamp` and `headers` are set by the
    task for each input record and by user processors when they forward; built-in operators pass both along as arguments
    instead, so a store that needs them takes them as arguments too.
    """

    def __init__(
        self,
        application_id: str = "app",
        task_id: str = "0_0",
        *,
        state_directory: Path | None = None,
        cache_max_bytes: int = 0,
        store_memory_max_bytes: int = 0,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.application_id = application_id
        self.task_id = task_id
        #: `state.dir/<application>/<task>`; None keeps persistent stores in memory (with the same semantics).
        self.state_directory = state_directory
        #: 0 strips the cache from every store.
        self.cache_max_bytes = cache_max_bytes
        #: Shared by the persistent stores of all tasks in the process.
        self.store_memory_max_bytes = store_memory_max_bytes
        self.config: Mapping[str, Any] = config or {}
        self.topic: str | None = None
        self.partition = -1
        self.offset = -1
        self.timestamp = NO_TIMESTAMP
        self.headers: Headers | None = None
        self.stream_time = NO_TIMESTAMP
        self.dropped_records = 0
        self.stores: dict[str, Any] = {}
        #: Things that several operators of the task share (the clock of a join's two sides), by name.
        self.shared: dict[str, Any] = {}
        #: Who wants to know when what was held back begins to be forwarded (`millstream.task.watching`).
        self.on_forwarding: Callable[[], None] | None = None

    def forwarding(self) -> None:
        """A cache, or an operator, begins to forward what it held back."""
        if self.on_forwarding is not None:
            self.on_forwarding()

    def now(self) -> int:
        """Wall-clock time in milliseconds; the test driver has its own."""
        return int(time.time() * 1000)

    def store_directory(self, name: str) -> str | None:
        """Where a persistent store keeps its files."""
        return None if self.state_directory is None else str(self.state_directory / name)

    def configure_rocksdb(self, store: str, options: Any) -> None:
        """Let the user's `rocksdb_config_setter` change the options that a store's database is opened with."""
        setter = self.config.get("rocksdb_config_setter")
        if setter is not None:
            setter(store, options)

    def store(self, name: str) -> Any:
        """An open store of this task, or a global one."""
        try:
            return self.stores[name]
        except KeyError:
            raise StateStoreError(
                f"there is no state store '{name}' in task {self.task_id}",
                detail=f"it has {', '.join(sorted(self.stores)) or 'none'}",
                hint="add it to the topology and connect it to the processor",
            ) from None

    def drop(self, who: str, reason: str) -> None:
        """Count a record that is skipped. `who` is a node or a store."""
        self.dropped_records += 1
        if log.isEnabledFor(logging.WARNING):
            log.warning(
                "%s skipped a record: %s (topic %s, partition %s, offset %s)",
                who, reason, self.topic, self.partition, self.offset,
            )  # fmt: skip
