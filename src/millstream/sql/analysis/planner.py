"""Planning of queries: the entrance."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.groups.node import AggregateNode
from millstream.sql.analysis.joins.build import build_joins
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.nodes.explode import ExplodeNode
from millstream.sql.analysis.nodes.filter import FilterNode
from millstream.sql.analysis.nodes.project import ProjectNode
from millstream.sql.analysis.nodes.repartition import RepartitionNode, keyed_as_selected
from millstream.sql.analysis.nodes.source import SourceNode
from millstream.sql.analysis.query.analyse import Analysis, analyse
from millstream.sql.analysis.query.rules import check_continuous, check_persistent, check_pull
from millstream.sql.analysis.request import PartitionCount, PlannedQuery, SinkRequest
from millstream.sql.analysis.sinks import check_target, resolve_sink
from millstream.sql.analysis.timestamps import check_timestamp_column
from millstream.sql.analysis.wording import place
from millstream.sql.catalogue import Catalogue
from millstream.sql.errors import SqlError
from millstream.sql.functions.registry import Registry
from millstream.sql.plan.steps import QueryPlan
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.types import quote
from millstream.sql.settings import Settings
from millstream.sql.tree.queries import Query


def plan_query(
    query: Query,
    *,
    sink: SinkRequest | None,
    catalogue: Catalogue,
    functions: Registry,
    config: Settings,
    query_id: str,
    partitions: PartitionCount = lambda topic: 1,
) -> PlannedQuery:
    """Plans a query.

    Args:
        query: as `prepare_query` gives it.
        sink: where a persistent query writes; None for a pull or a push query.
        catalogue: the sources there are.
        functions: the functions there are.
        config: the settings in force.
        query_id: a name for the query.
        partitions: tells how many partitions a topic has. What is joined must have as many.

    Raises:
        SqlError: the query cannot be answered; ksqlDB's words for why.
    """
    target = None if sink is None else check_target(sink, catalogue)
    environment = Environment(functions, config, partitions)
    analysis = analyse(query, catalogue, functions, persistent=sink is not None)
    if sink is None:
        return _plan_transient(analysis, environment, query_id)
    check_persistent(analysis)
    node = _build_nodes(analysis, environment, None if target is None else target.schema)
    check_timestamp_column(node.schema, sink.timestamp)
    resolved = resolve_sink(sink, target, analysis, node.schema, config)
    node.check_own_keys(sink.name)
    _check_clashes(node.schema)
    relation = node.build(environment)
    step = resolved.step(relation)
    source = resolved.source(node.kind, node.schema)
    plan = QueryPlan(query_id, _names(analysis), sink.name, step, resolved.window)
    return PlannedQuery(plan, node.kind, node.schema, source)


def _plan_transient(analysis: Analysis, environment: Environment, query_id: str) -> PlannedQuery:
    if analysis.query.emit is None:
        check_pull(analysis, environment.settings)
    else:
        check_continuous(analysis)
    node = _build_nodes(analysis, environment, None)
    relation = node.build(environment)
    plan = QueryPlan(query_id, _names(analysis), None, relation.step, analysis.result_window)
    return PlannedQuery(plan, node.kind, node.schema, limit=analysis.query.limit)


def _build_nodes(analysis: Analysis, environment: Environment, target: Schema | None) -> AggregateNode | ProjectNode:
    query = analysis.query
    node: Node
    if analysis.joins:
        node = build_joins(analysis, environment)
    else:
        node = SourceNode("KsqlTopic", analysis.first)
    if query.where is not None:
        node = FilterNode(node, analysis.plain(query.where), environment)
    if query.partition_by:
        expressions = [analysis.plain(expression) for expression in query.partition_by]
        node = RepartitionNode(node, query.partition_by, expressions, environment)
    if environment.settings.get("ksql.new.query.planner.enabled", False):
        node = keyed_as_selected(node, analysis.select, environment)
    if analysis.table_functions:
        node = ExplodeNode(node, analysis.plain_table_functions, analysis.select, environment)
    result: AggregateNode | ProjectNode
    if analysis.group_by:
        result = AggregateNode(node, analysis, environment, target)
    else:
        if query.window is not None:
            raise SqlError(f"{place(query.window.at)}WINDOW clause requires a GROUP BY clause.")
        result = ProjectNode(node, analysis.select, environment, persistent=analysis.persistent, target=target)
    if analysis.final:
        _check_final(analysis, environment.settings)
    return result


def _check_final(analysis: Analysis, settings: Settings) -> None:
    if not settings.get("ksql.suppress.enabled", True):
        raise SqlError("Suppression is currently disabled. You can enable it by setting ksql.suppress.enabled to true")
    if not analysis.group_by or analysis.window is None:
        raise SqlError("EMIT FINAL is only supported for windowed aggregations.")


def _check_clashes(schema: Schema) -> None:
    names = [column.name for column in schema]
    clashes = sorted({quote(name) for name in names if names.count(name) > 1})
    if clashes:
        raise SqlError(f"Value columns clash with key columns: {', '.join(clashes)}")


def _names(analysis: Analysis) -> tuple[str, ...]:
    return tuple(source.source.name for source in analysis.sources)
