"""An ordered map on disk: RocksDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch

from millstream.errors import StateStoreError
from millstream.state.backends.maps import OrderedMap
from millstream.state.store import LogEntry

_BUFFERED_WRITES = 4096
_MISSING: Any = object()


def _options() -> Options:
    """Small memory: a worker holds many stores. Kafka Streams gives a store some 100 MB, this is a tenth."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(4 * 1024 * 1024)
    options.set_max_write_buffer_number(2)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(1)
    options.set_max_open_files(256)
    options.set_stats_dump_period_sec(0)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(8 * 1024 * 1024))
    table.set_bloom_filter(10, False)
    options.set_block_based_table_factory(table)
    return options


class RocksMap(OrderedMap):
    """A RocksDB database. Writes are gathered and go down in batches; reads see them at once.

    Args:
        path: its directory.
        configure: changes the options it is opened with.
    """

    def __init__(self, path: str, configure: Callable[[Options], None] | None = None) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)
        options = _options()
        if configure is not None:
            configure(options)
        try:
            self._db = Rdict(path, options)
        except Exception as error:
            raise StateStoreError(
                "a RocksDB store cannot be opened",
                detail=f"{path}: {error}",
                hint="another process may have it open; if it is damaged, delete it: it is rebuilt from its changes",
            ) from error
        self._path = path
        self._pending: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._pending.get(key, _MISSING)
        if value is _MISSING:
            value = self._db.get(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        self._pending[key] = value
        if len(self._pending) >= _BUFFERED_WRITES:
            self.sync()

    def delete(self, key: bytes) -> None:
        self._pending[key] = None
        if len(self._pending) >= _BUFFERED_WRITES:
            self.sync()

    def write(self, entries: Iterable[LogEntry]) -> None:
        self._pending.update(entries)
        if len(self._pending) >= _BUFFERED_WRITES:
            self.sync()

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Remove every key with `low <= key < high`."""
        self.sync()
        self._db.delete_range(low, high)

    def range(self, low: bytes | None, high: bytes | None, reverse: bool = False) -> Iterator[tuple[bytes, bytes]]:
        if low is not None and high is not None and low >= high:
            return iter(())
        self.sync()
        if reverse:
            return self._down(self._db.items(backwards=True, from_key=high), low, high)
        return self._up(self._db.items(from_key=low), high)

    @staticmethod
    def _up(items: Iterable[tuple[Any, Any]], high: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        for key, value in items:
            if high is not None and key >= high:
                return
            yield key, value

    @staticmethod
    def _down(items: Iterable[tuple[Any, Any]], low: bytes | None, high: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        for key, value in items:
            if low is not None and key < low:
                return
            if high is None or key < high:  # the iterator starts at `high` itself, if that is there
                yield key, value

    def __len__(self) -> int:
        self.sync()
        return self._db.property_int_value("rocksdb.estimate-num-keys") or 0

    def sync(self) -> None:
        if not self._pending:
            return
        batch = WriteBatch(raw_mode=True)
        for key, value in self._pending.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        self._db.write(batch)
        self._pending.clear()

    def close(self) -> None:
        self.sync()
        self._db.close()

    def close_complete(self) -> str:
        self.close()
        return self._path
