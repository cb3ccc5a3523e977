"""Opens stores on every backend, with and without a cache."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream.records import Headers
from millstream.state import StateStore, StoreBuilder

TINY_MEMORY = 1_000


class Context:
    """A task as stores see it."""

    def __init__(self, cache_max_bytes: int = 0, directory: Path | None = None, memory: int = 0) -> None:
        self.topic: str | None = "in"
        self.partition = 0
        self.offset = 0
        self.timestamp = 0
        self.headers: Headers | None = None
        self.cache_max_bytes = cache_max_bytes
        self.directory = directory
        self.store_memory_max_bytes = memory
        self.dropped: list[tuple[str, str]] = []

    def configure_rocksdb(self, store: str, options: object) -> None:
        pass

    def store_directory(self, name: str) -> str | None:
        return None if self.directory is None else str(self.directory / name)

    def drop(self, who: str, reason: str) -> None:
        self.dropped.append((who, reason))

    def forwarding(self) -> None:
        """Nobody wants to know."""


class Harness:
    """What tests open stores with."""

    Context = Context

    @staticmethod
    def open(builder: StoreBuilder, cache: int = 0, directory: Path | None = None, context: Any = None) -> Any:
        """A store of a task, which is at `store._context`."""
        store: StateStore = builder.build()
        store.init(context or Context(cache, directory))
        return store

    @staticmethod
    @contextmanager
    def opened(builder: StoreBuilder, backend: str = "memory", cache: int = 0) -> Iterator[Any]:
        """A store, closed and removed afterwards.

        `backend` is `memory`, `rocksdb`, or `tiered`: RocksDB behind memory for two or three rows.
        """
        directory = None if backend == "memory" else Path(tempfile.mkdtemp(dir=_fast_place()))
        memory = TINY_MEMORY if backend == "tiered" else 0
        store = Harness.open(builder, context=Context(cache, directory, memory))
        try:
            yield store
        finally:
            store.close()
            if directory is not None:
                shutil.rmtree(directory)


def _fast_place() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - memory, not a shared secret


@pytest.fixture(scope="session")
def harness() -> type[Harness]:
    return Harness
