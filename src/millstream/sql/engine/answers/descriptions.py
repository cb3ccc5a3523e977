"""Sources and queries, described."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from millstream.sql.catalogue import Source
from millstream.sql.engine.answers.entities import QueryDescription, RunningQuery, SourceDescription, SourceInfo
from millstream.sql.engine.answers.live_figures import error_statistics, offset_summary, statistics
from millstream.sql.engine.answers.schema_info import FieldInfo
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery, PushQuery, QueryState
from millstream.sql.plan.steps import Step
from millstream.sql.schema.columns import Schema


def source_info(source: Source) -> SourceInfo:
    """A source in a list."""
    return SourceInfo(
        source.kind.value,
        source.name,
        source.topic,
        source.formats.key.format.name,
        source.formats.value.format.name,
        source.window is not None,
    )


def running_query(context: Context, query: PersistentQuery) -> RunningQuery:
    """A query in a list."""
    state = context.queries.runner.state(query).value
    return RunningQuery(
        query.id,
        query.sql,
        () if query.sink is None else (query.sink,),
        () if query.sink_topic is None else (query.sink_topic,),
        state,
        status_count={state: 1},
    )


def push_query(query: PushQuery) -> RunningQuery:
    """A push query in a list."""
    running = QueryState.RUNNING.value
    return RunningQuery(query.id, query.sql, (), (), running, "PUSH", {running: 1})


def describe_source(context: Context, source: Source, *, extended: bool) -> SourceDescription:
    """A stream or table."""
    topic = context.topics.describe(source.topic) if extended else None
    reading, writing = context.queries.reading(source.name), context.queries.writing(source.name)
    return SourceDescription(
        source.name,
        None if source.window is None else source.window.type.value,
        tuple(running_query(context, query) for query in reading),
        tuple(running_query(context, query) for query in writing),
        FieldInfo.all_of(source.schema),
        source.kind.value,
        "" if source.timestamp is None else source.timestamp.name,
        source.formats.key.format.name,
        source.formats.value.format.name,
        source.topic,
        extended,
        statistics=statistics(context, reading) if extended else "",
        error_stats=error_statistics(context, reading) if extended else "",
        query_offset_summaries=tuple(offset_summary(context, query) for query in writing) if extended else (),
        partitions=0 if topic is None else topic.partitions,
        replication=0 if topic is None else topic.replicas,
        statement=source.sql,
        source_constraints=tuple(context.catalogue.derived_from(source.name)),
    )


def describe_query(context: Context, query: PersistentQuery, *, running: bool = True) -> QueryDescription:
    """A query, running or only planned."""
    plan = query.plan
    # A query of its own gives rows: there the key is one of the columns.
    schema = plan.step.schema if query.sink is not None else Schema(plan.step.schema.value)
    return QueryDescription(
        query.id,
        query.sql,
        None if plan.window is None else plan.window.type.value,
        FieldInfo.all_of(schema),
        plan.sources,
        () if query.sink is None else (query.sink,),
        str(query.topology.describe()),
        "\n".join(_plan_lines(plan.step)),
        context.queries.runner.state(query).value if running else QueryState.RUNNING.value,
        overridden_properties=dict(query.settings.overrides),
        query_errors=tuple(context.queries.runner.errors(query)) if running else (),
        consumer_group_id=query.application_id,
    )


def _plan_lines(step: Step, depth: int = 0) -> Iterator[str]:
    """The steps of a plan, those before a step below it."""
    name = "".join("_" + letter if letter.isupper() else letter.upper() for letter in type(step).__name__).lstrip("_")
    indent = "\t" * depth
    yield f"{indent} > [ {name} ] | Schema: {step.schema} | Logger: {'.'.join(step.context)}"
    for item in dataclasses.fields(step):
        before = getattr(step, item.name)
        if isinstance(before, Step):
            yield from _plan_lines(before, depth + 1)
