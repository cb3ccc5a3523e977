"""`Table`: a dictionary that agents keep their state in."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any

from millstream.agents.body.current import CURRENT
from millstream.agents.tables.base import TableBase
from millstream.agents.tables.windowed import WindowedTable
from millstream.agents.times import Seconds, to_milliseconds
from millstream.state import StoreBuilder, Stores, StoreSupplier


class Table(TableBase, MutableMapping[Any, Any]):
    """A dictionary whose rows belong to the partition of the record that is being processed.

    A missing key is the default, which is not stored by being looked at. A value that is changed in place must be
    written back. Outside of agents a table can be read, from copies of its rows, and not written.
    """

    def __getitem__(self, key: Any) -> Any:
        current = CURRENT.get()
        if current is None:
            found = self._surroundings.outside(f"read table {self.name}").read(self.name, key)
            return self._missing(key) if found is None else found
        try:
            row = current.tables[self.name].read(key)
        except KeyError:
            row = self._current()[1].read(key)  # which says what is wrong
        return self._missing(key) if row is None else row[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        current = CURRENT.get()
        try:
            current.tables[self.name].write(key, value, current.timestamp)  # type: ignore[union-attr]  # see below
        except (AttributeError, KeyError):
            self._current()  # which says what is wrong, if it is the table
            raise

    def __delitem__(self, key: Any) -> None:
        current, access = self._current()
        if access.read(key) is None:
            raise KeyError(key)
        access.write(key, None, current.timestamp)

    def __contains__(self, key: object) -> bool:
        return self._row(key) is not None

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or `default`, whatever the table's own default is."""
        row = self._row(key)
        return default if row is None else row[0]

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._rows())

    def __len__(self) -> int:
        return sum(1 for _ in self._rows())

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def tumbling(self, size: Seconds, expires: Seconds | None = None, key_index: bool = False) -> WindowedTable:
        """This table with a value for each window of that size.

        Args:
            size: of the windows.
            expires: how long after its end a window is kept, by the time of the records. One day if missing.
            key_index: accepted; keys can always be listed.
        """
        return self.hopping(size, size, expires, key_index)

    def hopping(
        self, size: Seconds, step: Seconds, expires: Seconds | None = None, key_index: bool = False
    ) -> WindowedTable:
        """This table with a value for each window of that size; a window begins every `step`."""
        return WindowedTable(
            self,
            to_milliseconds(size, "size", minimum=1),
            to_milliseconds(step, "step", minimum=1),
            to_milliseconds(86_400 if expires is None else expires, "expires"),
        )

    def store(self) -> StoreBuilder:
        supplier = StoreSupplier(self.name, persistent=self.persistent)
        return Stores.timestamped_key_value_store(supplier, self.key_serde, self.value_serde).with_caching()

    def _row(self, key: Any) -> tuple[Any, int] | None:
        if CURRENT.get() is None:
            found = self._surroundings.outside(f"read table {self.name}").read(self.name, key)
            return None if found is None else (found, -1)
        row: tuple[Any, int] | None = self._current()[1].read(key)
        return row

    def _rows(self) -> Iterator[tuple[Any, Any]]:
        if CURRENT.get() is None:
            return iter(self._surroundings.outside(f"read table {self.name}").rows(self.name))
        return ((key, row.value) for key, row in self._current()[1].store.all())

    def __repr__(self) -> str:
        return f"<Table {self.name}>"
