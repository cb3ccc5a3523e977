"""Walks the steps of a plan and makes the topology of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatchmethod
from typing import Any

from millstream.config import StreamsConfig
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.options import Materialized
from millstream.dsl.records import with_value_serde
from millstream.dsl.streams.kstream import KStream
from millstream.errors import MillstreamError
from millstream.sql.errors import SqlError
from millstream.sql.formats import SchemaRegistry
from millstream.sql.functions.registry import Registry
from millstream.sql.physical import aggregates, joins, keys, sinks, sources
from millstream.sql.physical.calls import table_functions
from millstream.sql.physical.flow import Flow, Row, Surroundings, name_of
from millstream.sql.physical.kept import Kept
from millstream.sql.plan import steps
from millstream.sql.processing_log import ProcessingLog
from millstream.sql.settings import Settings
from millstream.sql.tree.walk import references
from millstream.suppressed import BufferConfig, Suppressed
from millstream.topology.topology import Topology

#: Hears of the results of a query that writes them nowhere: key and row.
Results = Callable[[Any, Row | None], object]

#: The columns that the steps after a step use; None: all of them.
Wanted = frozenset[str] | None


@dataclass(frozen=True)
class BuiltQuery:
    """A query that can run.

    Attributes:
        kept: where the rows of its result are kept, when that is a table.
    """

    topology: Topology
    kept: Kept | None


def build_query(
    plan: steps.QueryPlan,
    *,
    functions: Registry,
    settings: Settings,
    registry: SchemaRegistry | None,
    log: ProcessingLog,
    config: StreamsConfig | None = None,
    results: Results | None = None,
) -> BuiltQuery:
    """The topology of a query.

    Args:
        plan: what the query does.
        functions: those that its expressions call.
        settings: the engine's, with those of the session.
        registry: where schemas are, for formats that need one.
        log: what hears of rows that cannot be processed.
        config: of the application that will run it.
        results: what hears of its results, if it has no sink.

    Raises:
        SqlError: the query asks for what cannot be, a window that is kept for less than its size for instance.
    """
    builder = StreamsBuilder(config)
    around = Surroundings(plan.query_id, builder, functions, settings, registry, log)
    try:
        flow = _Builder(around).build(plan.step, None)
        if results is not None:
            stream = flow.dsl if isinstance(flow.dsl, KStream) else flow.table.to_stream()
            stream.foreach(results)
        return BuiltQuery(builder.build(config), flow.kept)
    except SqlError:
        raise
    except MillstreamError as error:
        raise SqlError(error.primary, detail=error.detail, hint=error.hint) from error


class _Builder:
    """Builds what is before a step, then the step."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around

    @singledispatchmethod
    def build(self, step: steps.Step, wanted: Wanted) -> Flow:
        """What a step becomes."""
        raise NotImplementedError(type(step).__name__)

    # Sources.

    @build.register
    def _(self, step: steps.StreamSource, wanted: Wanted) -> Flow:
        return sources.stream_source(step, self._around, wanted)

    @build.register
    def _(self, step: steps.TableSource, wanted: Wanted) -> Flow:
        return sources.table_source(step, self._around, stored=True)

    # Row by row.

    @build.register
    def _(self, step: steps.StreamFilter, wanted: Wanted) -> Flow:
        source = self.build(step.source, _also(wanted, step.condition))
        accepts = self._around.predicate(step.condition, source.schema, step)
        return source.then(source.stream.filter(accepts, name=name_of(step)), step)

    @build.register
    def _(self, step: steps.TableFilter, wanted: Wanted) -> Flow:
        source = self.build(step.source, None)
        accepts = self._around.predicate(step.condition, source.schema, step)
        kept = None if source.kept is None else source.kept.filtered(accepts)
        return source.then(source.table.filter(accepts, name=name_of(step)), step, kept=kept)

    @build.register
    def _(self, step: steps.StreamSelect, wanted: Wanted) -> Flow:
        source = self.build(step.source, _used(*(one.expression for one in step.selected)))
        return source.then(source.stream.map_values(self._projection(step, source), name=name_of(step)), step)

    @build.register
    def _(self, step: steps.TableSelect, wanted: Wanted) -> Flow:
        source = self.build(step.source, None)
        project = self._projection(step, source)
        if step.formats is None or source.kept is not None:
            values = self._around.packed_serde(step.schema.value)
            table = with_value_serde(source.table.map_values(project, name=name_of(step)), values)
            return source.then(table, step, kept=None if source.kept is None else source.kept.mapped(project))
        name = name_of(step, "Last")
        materialized = Materialized(
            name,
            self._around.key_serde(step.formats.key, step.schema, source.window, name),
            self._around.kept_serde(step.formats, step.schema.value, name),
        )
        kept = Kept(name, step.formats.key)
        return source.then(source.table.map_values(project, materialized), step, kept=kept)

    @build.register
    def _(self, step: steps.StreamFlatMap, wanted: Wanted) -> Flow:
        # Rows get longer at their end: nothing that comes before may be left out.
        source = self.build(step.source, None)
        explode = table_functions(step.functions, source.schema, self._around, step)
        return source.then(source.stream.flat_map_values(explode, name=name_of(step)), step)

    # New keys.

    @build.register
    def _(self, step: steps.StreamSelectKey, wanted: Wanted) -> Flow:
        return keys.select_stream_key(step, self.build(step.source, None), self._around)

    @build.register
    def _(self, step: steps.TableSelectKey, wanted: Wanted) -> Flow:
        if isinstance(step.source, steps.TableSource):
            source = sources.table_source(step.source, self._around, stored=False)
        else:
            source = self.build(step.source, None)
        return keys.select_table_key(step, source, self._around)

    @build.register
    def _(self, step: steps.StreamGroupBy, wanted: Wanted) -> Flow:
        return keys.group_stream(step, self.build(step.source, None), self._around)

    @build.register
    def _(self, step: steps.TableGroupBy, wanted: Wanted) -> Flow:
        return keys.group_table(step, self.build(step.source, None), self._around)

    # Aggregates.

    @build.register
    def _(self, step: steps.StreamAggregate, wanted: Wanted) -> Flow:
        return aggregates.aggregate_stream(step, self.build(step.source, None), self._around)

    @build.register
    def _(self, step: steps.TableAggregate, wanted: Wanted) -> Flow:
        return aggregates.aggregate_table(step, self.build(step.source, None), self._around)

    @build.register
    def _(self, step: steps.TableSuppress, wanted: Wanted) -> Flow:
        source = self.build(step.source, None)
        name = name_of(step, "Suppress")
        # The buffer needs serdes, which only an operator can be given.
        serdes = Materialized(
            key=self._around.key_serde(step.formats.key, source.schema, source.window, name),
            value=self._around.kept_serde(step.formats, source.schema.value, name),
        )
        buffered = source.table.map_values(_same, serdes)
        suppressed = Suppressed.until_window_closes(BufferConfig.unbounded(), name="Suppress")
        return source.then(buffered.suppress(suppressed), step)

    # Joins.

    @build.register
    def _(self, step: steps.StreamStreamJoin, wanted: Wanted) -> Flow:
        left, right = self.build(step.left, None), self.build(step.right, None)
        return joins.join_streams(step, left, right, self._around)

    @build.register
    def _(self, step: steps.StreamTableJoin, wanted: Wanted) -> Flow:
        right, left = self.build(step.right, None), self.build(step.left, None)
        return joins.join_stream_with_table(step, left, right, self._around)

    @build.register
    def _(self, step: steps.TableTableJoin, wanted: Wanted) -> Flow:
        return joins.join_tables(step, self.build(step.left, None), self.build(step.right, None))

    @build.register
    def _(self, step: steps.ForeignKeyJoin, wanted: Wanted) -> Flow:
        left, right = self.build(step.left, None), self.build(step.right, None)
        return joins.join_on_foreign_key(step, left, right, self._around)

    # Sinks.

    @build.register
    def _(self, step: steps.StreamSink, wanted: Wanted) -> Flow:
        source = self.build(step.source, None)
        sinks.stream_sink(step, source, self._around)
        return source

    @build.register
    def _(self, step: steps.TableSink, wanted: Wanted) -> Flow:
        source = self.build(step.source, None)
        sinks.table_sink(step, source, self._around)
        return source

    def _projection(self, step: steps.StreamSelect | steps.TableSelect, source: Flow) -> Callable[[Any], Any]:
        expressions, names = [one.expression for one in step.selected], [one.name for one in step.selected]
        return self._around.rows(expressions, source.schema, step, names, tombstones=True)


def _used(*expressions: Any) -> Wanted:
    return frozenset(reference.name for expression in expressions for reference in references(expression))


def _also(wanted: Wanted, *expressions: Any) -> Wanted:
    used = _used(*expressions)
    return None if wanted is None or used is None else wanted | used


def _same(row: Any) -> Any:
    return row
