"""Sources, sinks and the operators without state: how the case format calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream import Branched, Consumed, Grouped, Produced, Repartitioned, Serdes, ValueTransformer
from millstream.testing.conformance.case import Json
from millstream.testing.conformance.operators import functions
from millstream.testing.conformance.operators.functions import text, text_transformer
from millstream.testing.conformance.operators.handles import Handle, Kind, OperatorBuilder, Scope, materialized
from millstream.testing.conformance.operators.processors import processor, values_processor
from millstream.testing.conformance.operators.types import PLAIN_KEY, ValueType

#: Processors that pass values on as they are; behind the others they are texts.
_KEEPS_VALUES = ("forward", "add-header", "shift-ts")


class FirstCharacterTopic:
    """The dynamic topic of a case: a prefix and the value's first character. `describe` shows it as DYNAMIC."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __call__(self, key: Any, value: Any, context: Any) -> str:
        """The topic of a record."""
        return self._prefix + ((text(value) or "")[:1] or "none")

    def __repr__(self) -> str:
        return "DYNAMIC"


class TextTransformer(ValueTransformer[Any, Any, str]):
    """The stateless transformer of `transform_values`."""

    def transform(self, key: Any, value: Any) -> str:
        """Key and value as one text."""
        return text_transformer(key, value)


def _consumed(op: Json) -> Consumed:
    return Consumed(Serdes.string, Serdes.string, name=op.get("name"))


def _stream(scope: Scope, op: Json) -> None:
    topics = op["topics"] if "topics" in op else op["topic"]
    scope.handles[op["out"]] = Handle(Kind.STREAM, scope.builder.stream(topics, _consumed(op)))


def _table(scope: Scope, op: Json) -> None:
    made = scope.builder.table(op["topic"], _consumed(op), materialized(op, PLAIN_KEY, ValueType.STRING))
    scope.handles[op["out"]] = Handle(Kind.TABLE, made)


def _global_table(scope: Scope, op: Json) -> None:
    made = scope.builder.global_table(op["topic"], _consumed(op), materialized(op, PLAIN_KEY, ValueType.STRING))
    scope.handles[op["out"]] = Handle(Kind.GLOBAL_TABLE, made)


def _filter(method: str) -> OperatorBuilder:
    def build(scope: Scope, op: Json) -> None:
        source = scope.handles[op["in"]]
        options: dict[str, Any] = {"name": op.get("name")}
        if source.kind is Kind.TABLE:
            options["materialized"] = materialized(op, source.key, source.value)
        made = getattr(source.dsl, method)(functions.predicate(op["fn"]), **options)
        scope.handles[op["out"]] = source.to(made)

    return build


def _map_values(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    options: dict[str, Any] = {"name": op.get("name")}
    if source.kind is Kind.TABLE:
        options["materialized"] = materialized(op, source.key, ValueType.STRING)
    made = source.dsl.map_values(functions.value_mapper(op["fn"]), **options)
    scope.handles[op["out"]] = source.to(made, value=ValueType.STRING)


def _transform_values(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    made = source.dsl.transform_values(
        TextTransformer, name=op.get("name"), materialized=materialized(op, source.key, ValueType.STRING)
    )
    scope.handles[op["out"]] = source.to(made, value=ValueType.STRING)


def _mapped(method: str, library: Callable[[str], Any], *, plain_key: bool, text_value: bool) -> OperatorBuilder:
    """A stream operator with one function, which gives texts for keys, for values or for both."""

    def build(scope: Scope, op: Json) -> None:
        source = scope.handles[op["in"]]
        made = getattr(source.dsl, method)(library(op["fn"]), name=op.get("name"))
        scope.handles[op["out"]] = source.to(
            made,
            key=PLAIN_KEY if plain_key else source.key,
            value=ValueType.STRING if text_value else source.value,
        )

    return build


def _peek(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    scope.handles[op["out"]] = source.to(source.dsl.peek(lambda key, value: None, name=op.get("name")))


def _merge(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    made = source.dsl.merge(scope.handles[op["other"]].dsl, name=op.get("name"))
    scope.handles[op["out"]] = source.to(made)


def _split(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]

    def branched(branch: Json) -> Branched:
        def take(made: Any) -> None:
            scope.handles[branch["out"]] = source.to(made)

        return Branched(branch.get("name"), consumer=take)

    branches = source.dsl.split(name=op.get("name"))
    for branch in op["branches"]:
        branches = branches.branch(functions.predicate(branch["fn"]), branched(branch))
    if "default" in op:
        branches.default_branch(branched(op["default"]))
    else:
        branches.no_default_branch()


def _repartition(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    options = Repartitioned(
        source.key.serde(), source.value.serde(), name=op.get("name"), partitions=op.get("partitions")
    )
    scope.handles[op["out"]] = source.to(source.dsl.repartition(options))


def _to(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    produced = Produced(source.key.serde(), source.value.serde(), name=op.get("name"))
    types = (source.key, source.value)
    if "topic_prefix" in op:
        scope.written_dynamically.setdefault(op["topic_prefix"], []).append(types)
        source.dsl.to(FirstCharacterTopic(op["topic_prefix"]), produced)
    else:
        scope.written.setdefault(op["topic"], []).append(types)
        source.dsl.to(op["topic"], produced)


def _to_table(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    made = source.dsl.to_table(name=op.get("name"), materialized=materialized(op, source.key, source.value))
    scope.handles[op["out"]] = source.to(made, kind=Kind.TABLE)


def _to_stream(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    mapper = functions.key_mapper(op["fn"]) if "fn" in op else None
    made = source.dsl.to_stream(mapper, name=op.get("name"))
    scope.handles[op["out"]] = source.to(made, kind=Kind.STREAM, key=PLAIN_KEY if mapper else source.key)


def _group_by_key(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    grouped = Grouped(source.key.serde(), source.value.serde(), name=op.get("name"))
    scope.handles[op["out"]] = source.to(source.dsl.group_by_key(grouped), kind=Kind.GROUPED_STREAM)


def _group_by(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    if source.kind is Kind.TABLE:
        grouped = Grouped(Serdes.string, Serdes.string, name=op.get("name"))
        made = source.dsl.group_by(functions.pair_mapper(op["fn"]), grouped)
        scope.handles[op["out"]] = Handle(Kind.GROUPED_TABLE, made)
    else:
        grouped = Grouped(Serdes.string, source.value.serde(), name=op.get("name"))
        made = source.dsl.group_by(functions.key_mapper(op["fn"]), grouped)
        scope.handles[op["out"]] = source.to(made, kind=Kind.GROUPED_STREAM, key=PLAIN_KEY)


def _process(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    made = source.dsl.process(processor(op), name=op.get("name"))
    keeps = op["fn"].partition(":")[0] in _KEEPS_VALUES
    scope.handles[op["out"]] = source.to(made, value=source.value if keeps else ValueType.STRING)


def _process_values(scope: Scope, op: Json) -> None:
    source = scope.handles[op["in"]]
    made = source.dsl.process_values(values_processor(op), name=op.get("name"))
    keeps = op["fn"] == "dedup"
    scope.handles[op["out"]] = source.to(made, value=source.value if keeps else ValueType.STRING)


OPERATORS: dict[str, OperatorBuilder] = {
    "stream": _stream,
    "table": _table,
    "global_table": _global_table,
    "filter": _filter("filter"),
    "filter_not": _filter("filter_not"),
    "map_values": _map_values,
    "transform_values": _transform_values,
    "map": _mapped("map", functions.pair_mapper, plain_key=True, text_value=True),
    "flat_map": _mapped("flat_map", functions.flat_pair_mapper, plain_key=True, text_value=True),
    "flat_map_values": _mapped("flat_map_values", functions.flat_value_mapper, plain_key=False, text_value=True),
    "select_key": _mapped("select_key", functions.key_mapper, plain_key=True, text_value=False),
    "peek": _peek,
    "merge": _merge,
    "split": _split,
    "repartition": _repartition,
    "to": _to,
    "to_table": _to_table,
    "to_stream": _to_stream,
    "group_by_key": _group_by_key,
    "group_by": _group_by,
    "process": _process,
    "process_values": _process_values,
}
