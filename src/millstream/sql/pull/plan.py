"""A pull query over a table: planned once, then asked of the store behind the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from millstream.records import Windowed
from millstream.sql.catalogue import Source
from millstream.sql.expressions import compile_predicate, compile_row
from millstream.sql.functions.registry import Registry
from millstream.sql.physical import Kept
from millstream.sql.plan.steps import Step, TableFilter, TableSelect, TableSource
from millstream.sql.processing_log import ProcessingLog
from millstream.sql.pull.constraints import Constraints
from millstream.sql.pull.lookups import KeyLookup, Lookup, RangeLookup, Scan
from millstream.sql.pull.rows import Found, StoredRows
from millstream.sql.schema.columns import WINDOW_BOUNDS, Column, Namespace, Schema
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import ColumnReference

_Row = tuple[Any, ...]


@dataclass(frozen=True)
class PullPlan:
    """How a pull query is answered.

    Attributes:
        columns: of the answer.
        lookups: what is asked of the store.
    """

    columns: tuple[Column, ...]
    lookups: Sequence[Lookup]
    _kept: Kept
    _windowed: bool
    _accepts: Callable[[Any, _Row | None], bool] | None
    _project: Callable[[_Row], _Row]
    _limit: int | None

    @property
    def is_of_keys(self) -> bool:
        """Whether all that is looked up are keys."""
        return all(isinstance(lookup, KeyLookup) for lookup in self.lookups)

    def of_key(self, key: tuple[Any, ...]) -> PullPlan:
        """The same for another key, where nothing but to have that key is asked of rows."""
        return replace(self, lookups=[KeyLookup(key)], _accepts=None)

    def answer(self, rows: StoredRows) -> Iterator[_Row]:
        """The rows of the answer; they are looked up as they are taken."""
        return islice(self._answer(rows), self._limit)

    def _answer(self, rows: StoredRows) -> Iterator[_Row]:
        accepts, project, windowed = self._accepts, self._project, self._windowed
        for found in self._found(rows):
            key = found.key if found.window is None else Windowed(found.key, found.window)
            values = self._kept.row(key, found.value)
            if values is None:
                continue
            # As sources give rows to expressions: pseudo columns, the key and the window come after the values.
            row = (*values, found.timestamp, None, None, *found.key)
            if windowed and found.window is not None:
                row += tuple(found.window)
            if accepts is None or accepts(key, row):
                yield project(row)

    def _found(self, rows: StoredRows) -> Iterable[Found]:
        first = self.lookups[0] if self.lookups else None
        if isinstance(first, RangeLookup):
            return rows.range(first.low, first.high)
        lookups = [lookup for lookup in self.lookups if isinstance(lookup, KeyLookup)]
        if len(lookups) < len(self.lookups):
            return rows.scan()
        if not self._windowed:
            return rows.get([lookup.key for lookup in lookups])
        return self._windows(rows, lookups)

    def _windows(self, rows: StoredRows, lookups: Sequence[KeyLookup]) -> Iterator[Found]:
        """The windows of keys, each once: the times of several lookups of a key may overlap."""
        asked: dict[str, list[KeyLookup]] = {}
        for lookup in lookups:
            before = asked.setdefault(repr(lookup.key), [])  # keys may be lists: they have no hash
            for found in rows.windows(lookup.key, lookup.starts, lookup.ends):
                if not any(_covers(other, found) for other in before):
                    yield found
            before.append(lookup)


def _covers(lookup: KeyLookup, found: Found) -> bool:
    return found.window is not None and found.window.start in lookup.starts and found.window.end in lookup.ends


def plan_pull(
    step: Step,
    source: Source,
    kept: Kept,
    limit: int | None,
    *,
    functions: Registry,
    settings: Settings,
    log: ProcessingLog,
) -> PullPlan:
    """Plan a pull query.

    Args:
        step: what the planner made of it: a projection, perhaps of a filter, of the table.
        source: the table.
        kept: the store behind it.
        limit: of rows.
        functions: those that expressions call.
        settings: the engine's, with those of the session.
        log: what hears of rows that cannot be processed.

    Raises:
        SqlError: what is asked for is not allowed.
    """
    if not isinstance(step, TableSelect):
        raise TypeError(f"{type(step).__name__} is no projection of a table")
    before, condition = step.source, None
    if isinstance(before, TableFilter):
        condition = before.condition
        before = before.source
    if not isinstance(before, TableSource):
        raise TypeError(f"{type(before).__name__} is no table that can be asked")
    windowed = source.window is not None
    lookups = Constraints(source.schema, windowed, functions, settings).lookups(condition)
    if kept.key.format.name != "KAFKA" and any(isinstance(lookup, RangeLookup) for lookup in lookups):
        # Other formats put more around a key than its own bytes: the store does not have them in the keys' order.
        lookups = [Scan()]
    expressions, names = [one.expression for one in step.selected], [one.name for one in step.selected]
    logger = f"processing.{source.name}.pull"
    accepts = None
    if condition is not None:
        accepts = compile_predicate(condition, before.schema, functions, log=log, config=settings, logger=logger)
    project = compile_row(expressions, before.schema, functions, log=log, config=settings, logger=logger, names=names)
    return PullPlan(_columns(step, source.schema), lookups, kept, windowed, accepts, project, limit)


def _columns(step: TableSelect, table: Schema) -> tuple[Column, ...]:
    """The columns of the answer. Those that are columns of the table's key, or bounds of its windows, are told."""
    keys = {column.name for column in table.key} | WINDOW_BOUNDS.keys()
    kinds = {column.name: column.type for column in step.schema.value}
    return tuple(
        Column(
            one.name,
            kinds[one.name],
            Namespace.KEY
            if isinstance(one.expression, ColumnReference) and one.expression.name in keys
            else Namespace.VALUE,
        )
        for one in step.selected
    )
