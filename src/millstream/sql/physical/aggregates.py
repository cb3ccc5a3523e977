"""GROUP BY's aggregates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from millstream.dsl.options import Materialized
from millstream.dsl.streams.grouped import KGroupedStream
from millstream.dsl.streams.grouped_table import KGroupedTable
from millstream.records import Windowed
from millstream.serdes import Serde
from millstream.sql.physical.calls import aggregate_calls
from millstream.sql.physical.flow import AnyTable, Flow, Surroundings, delta, name_of
from millstream.sql.physical.kept import Kept
from millstream.sql.plan.steps import StreamAggregate, TableAggregate
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.formats import WindowInfo, WindowType
from millstream.sql.tree.queries import Emit, HoppingWindow, SessionWindow, TumblingWindow
from millstream.windows import EmitStrategy, SessionWindows, TimeWindows

_Row = tuple[Any, ...]
_DAY_MS = 24 * 60 * 60 * 1000


def aggregate_stream(step: StreamAggregate, source: Flow, around: Surroundings) -> Flow:
    """The aggregates of a grouped stream, by window if there is one."""
    assert isinstance(source.dsl, KGroupedStream)  # noqa: S101 - the planner puts steps together
    work = _Work(step, source.schema, around)
    if step.window is None:
        table = source.dsl.aggregate(work.initialize, work.aggregate, materialized=work.materialized())
        return Flow(_results(table, step, work), step.schema, kept=work.kept)
    retention = None if step.window.retention is None else delta(step.window.retention.milliseconds)
    materialized = work.materialized(retention)
    grace = _grace(step.window)
    if isinstance(step.window, SessionWindow):
        sessions = source.dsl.windowed_by(SessionWindows.of_inactivity_gap(delta(step.window.gap.milliseconds), grace))
        if step.emit is Emit.FINAL:
            sessions = sessions.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        table = sessions.aggregate(work.initialize, work.aggregate, work.merge, materialized=materialized)
        window = WindowInfo(WindowType.SESSION)
    else:
        windows = TimeWindows.of_size(delta(step.window.size.milliseconds), grace)
        if isinstance(step.window, HoppingWindow):
            windows = windows.advance_by(delta(step.window.advance.milliseconds))
        windowed = source.dsl.windowed_by(windows)
        if step.emit is Emit.FINAL:
            windowed = windowed.emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        table = windowed.aggregate(work.initialize, work.aggregate, materialized=materialized)
        kind = WindowType.HOPPING if isinstance(step.window, HoppingWindow) else WindowType.TUMBLING
        window = WindowInfo(kind, step.window.size.milliseconds)
    bounded = _results(table, step, work).map_values(_with_bounds, name=name_of(step, "WindowSelect"))
    return Flow(bounded, step.schema, window, work.kept.then(_with_bounds))


def aggregate_table(step: TableAggregate, source: Flow, around: Surroundings) -> Flow:
    """The aggregates of a grouped table: what a row gave is taken back before its new version counts."""
    assert isinstance(source.dsl, KGroupedTable)  # noqa: S101 - the planner puts steps together
    work = _Work(step, source.schema, around)
    table = source.dsl.aggregate(work.initialize, work.aggregate, work.undo(), materialized=work.materialized())
    return Flow(_results(table, step, work), step.schema, kept=work.kept)


class _Work:
    """The functions that aggregate rows, written once for the query."""

    def __init__(self, step: StreamAggregate | TableAggregate, schema: Schema, around: Surroundings) -> None:
        self._step = step
        self._around = around
        self._calls = aggregate_calls(step.aggregates, schema, around)
        places = [schema.value_index(name) for name in step.required]
        kept = [f"row[{place}]" for place in places]
        self._names: dict[str, Any] = {}
        start = len(kept)
        self.initialize = _Initial((None,) * start, [call.call.initialize for call in self._calls])
        self.aggregate = self._function("aggregate", "key, row, kept", [*kept, *self._steps("aggregate", start)])
        self._kept = kept
        first = [f"two[{index}] if one[{index}] is None else one[{index}]" for index in range(start)]
        merges = [
            f"{self._bind('merge', call.call.merge)}(one[{start + index}], two[{start + index}])"
            for index, call in enumerate(self._calls)
        ]
        self.merge = self._function("merge", "key, one, two", [*first, *merges])
        self.result: Callable[[Any], Any] | None = None
        if any(call.call.result is not None for call in self._calls):
            columns = [f"row[{index}]" for index in range(start)]
            for index, call in enumerate(self._calls, start):
                text = f"row[{index}]"
                if call.call.result is not None:
                    text = f"{self._bind('result', call.call.result)}({text})"
                columns.append(text)
            self.result = self._function("result", "row", columns)

    def undo(self) -> Callable[..., Any]:
        """The function that takes back what a row gave."""
        return self._function("undo", "key, row, kept", [*self._kept, *self._steps("undo", len(self._kept))])

    def materialized(self, retention: timedelta | None = None) -> Materialized:
        """The store of the aggregates."""
        step, around = self._step, self._around
        name = name_of(step, "Materialize")
        return Materialized(
            name,
            around.key_serde(step.formats.key, step.schema, None, name),
            self._serde(name),
            retention=retention,
        )

    @property
    def kept(self) -> Kept:
        """What is in that store."""
        kept = Kept(name_of(self._step, "Materialize"), self._step.formats.key)
        return kept if self.result is None else kept.mapped(self.result)

    def _serde(self, name: str) -> Serde[Any]:
        required = list(self._step.schema.value)[: len(self._step.required)]
        kept = [Column(f"KSQL_AGG_VARIABLE_{index}", one.call.state) for index, one in enumerate(self._calls)]
        return self._around.kept_serde(self._step.formats, [*required, *kept], name)

    def _steps(self, what: str, start: int) -> list[str]:
        texts = []
        for index, call in enumerate(self._calls, start):
            function = self._bind(what, getattr(call.call, what))
            texts.append(f"{function}({', '.join((f'kept[{index}]', *call.arguments))})")
        return texts

    def _bind(self, prefix: str, thing: Any) -> str:
        name = f"{prefix}{len(self._names)}"
        self._names[name] = thing
        return name

    def _function(self, name: str, parameters: str, parts: Sequence[str]) -> Callable[..., Any]:
        """One function for all columns: one call per record, whatever the number of aggregates."""
        source = f"def {name}({parameters}):\n    return ({', '.join(parts)},)\n"
        names = dict(self._names)
        exec(compile(source, f"<{name} of {self._around.query_id}>", "exec"), names)  # noqa: S102 - made of names only
        made: Callable[..., Any] = names[name]
        return made


@dataclass(frozen=True)
class _Initial:
    """The aggregates of nothing."""

    required: tuple[None, ...]
    makers: Sequence[Callable[[], Any]]

    def __call__(self) -> _Row:
        return (*self.required, *[make() for make in self.makers])


def _results(table: AnyTable, step: StreamAggregate | TableAggregate, work: _Work) -> AnyTable:
    if work.result is None:
        return table
    return table.map_values(work.result, name=name_of(step, "ToOutputSchema"))


def _with_bounds(key: Windowed[Any], row: _Row) -> _Row:
    return row + key.window


def _grace(window: TumblingWindow | HoppingWindow | SessionWindow) -> timedelta:
    """As long as ksqlDB waits: a day, less the window."""
    if window.grace is not None:
        return delta(window.grace.milliseconds)
    size = window.gap if isinstance(window, SessionWindow) else window.size
    return delta(max(_DAY_MS - size.milliseconds, 0))
