"""What CREATE OR REPLACE may change."""

from __future__ import annotations

import dataclasses

from millstream.sql.catalogue import Source
from millstream.sql.errors import SqlError
from millstream.sql.plan.steps import (
    Step,
    StreamAggregate,
    StreamFilter,
    StreamGroupBy,
    StreamSelect,
    StreamSelectKey,
    StreamSink,
    StreamSource,
    TableFilter,
    TableSelect,
    TableSelectKey,
    TableSink,
    TableSource,
)
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.format import format_expression


def check_source_upgrade(old: Source, new: Source) -> None:
    """See that a source can take the place of another.

    Raises:
        SqlError: it cannot, with all that is in the way.
    """
    issues = [
        _issue(old.name, what, before, after)
        for what, before, after in (
            ("type", _kind(old), _kind(new)),
            ("topic", _topic(old), _topic(new)),
            ("timestampColumn", _timestamp(old), _timestamp(new)),
        )
        if before != after
    ]
    columns = _schema_issue(old.schema, new.schema)
    if columns is not None:
        issues.append(f"{_issue(old.name, 'schema', str(old.schema), str(new.schema))}. ({columns})")
    if issues:
        joined = "\n\tAND ".join(issues)
        raise SqlError(f"Cannot upgrade data source: {joined}")


def _issue(name: str, what: str, before: str, after: str) -> str:
    return f"DataSource '{quote(name)}' has {what} = {before} which is not upgradeable to {after}"


def _kind(source: Source) -> str:
    return f"K{source.kind.value}"


def _topic(source: Source) -> str:
    key, value = source.formats.key, source.formats.value
    return f"KsqlTopic{{kafkaTopicName='{source.topic}', keyFormat={key}, window={source.window}, valueFormat={value}}}"


def _timestamp(source: Source) -> str:
    return "Optional.empty" if source.timestamp is None else f"Optional[{source.timestamp}]"


def _schema_issue(old: Schema, new: Schema) -> str | None:
    lost = _lost(old.key, new.key)
    if lost:
        return f"Key columns must be identical. The following key columns are changed, missing or reordered: {lost}"
    lost = _lost(_numbered(old), _numbered(new))
    if lost:
        return f"The following columns are changed, missing or reordered: {lost}"
    return None


def _numbered(schema: Schema) -> tuple[Column, ...]:
    return (*schema.key, *schema.value, *schema.headers)


def _lost(old: tuple[Column, ...], new: tuple[Column, ...]) -> str:
    """The columns that are not at the same place any more; empty when all are."""
    lost = [column for index, column in enumerate(old) if index >= len(new) or new[index] != column]
    return f"[{', '.join(map(str, lost))}]" if lost else ""


#: Steps that may come and go: they keep nothing.
_PASSIVE = (StreamFilter, TableFilter, StreamSelect, TableSelect)
#: What must stay as it is, by the names that messages have for it.
_MUST_MATCH: dict[type[Step], dict[str, str]] = {
    StreamSource: {"topicName": "topic", "formats": "formats", "timestampColumn": "timestamp"},
    TableSource: {"topicName": "topic", "formats": "formats", "timestampColumn": "timestamp"},
    StreamSelectKey: {"keyExpressions": "keys"},
    TableSelectKey: {"internal formats": "formats", "keyExpressions": "keys"},
    StreamGroupBy: {"internal formats": "formats", "groupByExpressions": "keys"},
    StreamAggregate: {
        "internal format": "formats",
        "columns not part of aggregate": "required",
        "aggregate functions": "aggregates",
    },
    StreamSink: {"formats": "formats", "topicName": "topic", "timestampColumn": "timestamp"},
    TableSink: {"formats": "formats", "topicName": "topic", "timestampColumn": "timestamp"},
}


def check_query_upgrade(old: Step, new: Step) -> None:
    """See that a query can take over the state of another.

    Both plans are walked from their sinks to their sources. A step that keeps nothing is passed over, and then it is
    the other plan's turn, as in ksqlDB: that decides which steps are compared. All others must be of one kind.

    Raises:
        SqlError: the steps differ in what state depends on.
    """
    if isinstance(old, _PASSIVE):
        check_query_upgrade(new, old.source)
        return
    _check_supported(old)
    if isinstance(old, StreamSource | TableSource):
        _match(old, _source_of(old, new))
        return
    _match(old, new)
    check_query_upgrade(*(_before(step)[0] for step in (old, new)))


def _check_supported(step: Step) -> None:
    if type(step) not in _MUST_MATCH or getattr(step, "window", None) is not None:
        raise SqlError(f"Upgrades not yet supported for {_name(step)}")


def _source_of(source: StreamSource | TableSource, step: Step) -> Step:
    """The source that stands opposite to one, behind steps that keep nothing."""
    while _name(step) != _name(source):
        before = _before(step)
        if not before:
            raise SqlError(
                f"Query is not upgradeable. The root source node of the upgrade tree must be {_name(source)}, "
                f"but was {_class(step)}"
            )
        if len(before) > 1:
            raise SqlError("Query is not upgradeable. Cannot change a non-join source into a join source.")
        if not isinstance(step, _PASSIVE):
            _check_supported(step)
            raise SqlError(
                f"Query is not upgradeable. Cannot add a {_class(step)} step that is not in the original query plan."
            )
        step = before[0]
    return step


def _match(step: Step, other: Step) -> None:
    _same(step, "class", _class(step), _class(other))
    _same(step, "properties", *(f"{{queryContext='{'/'.join(one.context)}'}}" for one in (step, other)))
    for what, attribute in _MUST_MATCH[type(step)].items():
        _same(step, what, *(_shown(getattr(one, attribute)) for one in (step, other)))


def _before(step: Step) -> list[Step]:
    """The steps that give a step its records."""
    found = (getattr(step, item.name) for item in dataclasses.fields(step))
    return [value for value in found if isinstance(value, Step)]


def _name(step: Step) -> str:
    """The name that ksqlDB has for a step."""
    name = type(step).__name__
    if isinstance(step, StreamGroupBy) and not step.keys:
        return "StreamGroupByKey"
    if isinstance(step, StreamAggregate) and step.window is not None:
        return "StreamWindowedAggregate"
    if isinstance(step, StreamSource | TableSource) and step.window is not None:
        return f"Windowed{name}"
    return {"ForeignKeyJoin": "ForeignKeyTableTableJoin"}.get(name, name)


def _class(step: Step) -> str:
    return f"class io.confluent.ksql.execution.plan.{_name(step)}"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, Expression):
        return format_expression(value)
    return str(value)


def _same(step: Step, what: str, before: str, after: str) -> None:
    if before != after:
        raise SqlError(
            f"Query is not upgradeable. Plan step of type {_name(step)} must have matching {what}. "
            f"Values differ: {before} vs. {after}"
        )
