"""Re-grouping a table: a row that changes group is taken from the old group and added to the new one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.errors import StreamsError
from millstream.processors.operator import Operator
from millstream.processors.stateless import not_a_pair
from millstream.processors.tables.materialized import MaterializingOperator
from millstream.records import Change, Headers


class TableGroupBy(Operator):
    """Maps an update's old and new row to their groups: one record for a common group, else the old one's first."""

    def __init__(self, mapper: Callable[[Any, Any], tuple[Any, Any]]) -> None:
        self._mapper = mapper

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            raise StreamsError("a table's key cannot be null", detail=f"at group_by '{self.name}'")
        new, old, latest = value
        if not latest:  # an old version of a versioned table changes no group
            return
        new_pair = self._pair(key, new)
        old_pair = self._pair(key, old)
        if new_pair and old_pair and new_pair[0] == old_pair[0]:
            self.forward(new_pair[0], (new_pair[1], old_pair[1], True), timestamp, headers)
            return
        if old_pair:
            self.forward(old_pair[0], (None, old_pair[1], True), timestamp, headers)
        if new_pair:
            self.forward(new_pair[0], (new_pair[1], None, True), timestamp, headers)

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        """The group and value of a row, or None when the row belongs to no group."""
        if value is None:
            return None
        pair = self._mapper(key, value)
        try:
            group, mapped = pair
        except (TypeError, ValueError) as error:
            raise not_a_pair(self._mapper, pair) from error
        return None if group is None or mapped is None else (group, mapped)


class GroupedTableAggregate(MaterializingOperator):
    """Subtracts the old row from its group's aggregate, then adds the new one."""

    def __init__(
        self,
        store: str,
        initializer: Callable[[], Any],
        adder: Callable[[Any, Any, Any], Any],
        subtractor: Callable[[Any, Any, Any], Any],
        *,
        send_old: bool,
    ) -> None:
        super().__init__(store, send_old=send_old)
        self._initializer = initializer
        self._adder = adder
        self._subtractor = subtractor

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            raise StreamsError("a grouped table's key cannot be null", detail=f"at aggregate '{self.name}'")
        new, old, _ = value
        entry = self._read(key)
        aggregate, stored = (None, timestamp) if entry is None else entry
        existed = aggregate is not None
        # The functions may change the aggregate in place, and the old value is still to be told.
        before = self._stored(key) if self._send_old and not self._cached else None
        result_timestamp = timestamp
        if old is not None and aggregate is not None:
            aggregate = self._subtractor(key, old, aggregate)
            result_timestamp = max(timestamp, stored)
        if new is not None:
            if aggregate is None:
                base = self._initializer()
            else:
                base = aggregate
            aggregate = self._adder(key, new, base)
            if existed:
                result_timestamp = max(timestamp, stored)
        self._write_and_forward(key, aggregate, before, result_timestamp, headers, timestamp)


class GroupedTableReduce(MaterializingOperator):
    """As GroupedTableAggregate, with the first value of a group as its first aggregate."""

    def __init__(
        self, store: str, adder: Callable[[Any, Any], Any], subtractor: Callable[[Any, Any], Any], *, send_old: bool
    ) -> None:
        super().__init__(store, send_old=send_old)
        self._adder = adder
        self._subtractor = subtractor

    def process(self, key: Any, value: Change, timestamp: int, headers: Headers | None) -> None:
        if key is None:
            raise StreamsError("a grouped table's key cannot be null", detail=f"at reduce '{self.name}'")
        new, old, _ = value
        entry = self._read(key)
        aggregate, stored = (None, timestamp) if entry is None else entry
        # The functions may change the aggregate in place, and the old value is still to be told.
        before = self._stored(key) if self._send_old and not self._cached else None
        result_timestamp = timestamp
        if old is not None and aggregate is not None:
            aggregate = self._subtractor(aggregate, old)
            result_timestamp = max(timestamp, stored)
        if new is not None:
            if aggregate is None:
                aggregate = new
            else:
                aggregate = self._adder(aggregate, new)
                result_timestamp = max(timestamp, stored)
        self._write_and_forward(key, aggregate, before, result_timestamp, headers, timestamp)
