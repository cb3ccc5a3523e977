"""Where records come from."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.nodes.base import Node, in_star_order
from millstream.sql.analysis.query.projection import Projection
from millstream.sql.analysis.query.sources import AliasedSource
from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.analysis.wording import keys_missing
from millstream.sql.plan.steps import Step, StreamSource, TableSource
from millstream.sql.tree.expressions import ColumnReference
from millstream.sql.tree.statements import SourceKind


class SourceNode(Node):
    """A stream or table that is read."""

    def __init__(self, name: str, aliased: AliasedSource) -> None:
        self.name = name
        self.aliased = aliased
        self.schema = aliased.rows()
        self.kind = aliased.source.kind
        self.alias = aliased.alias
        self.inputs = ()

    @property
    def key(self) -> KeyFormat:
        return KeyFormat.of(self.aliased.source)

    def sources(self) -> list[AliasedSource]:
        return [self.aliased]

    def star(self, alias: str | None) -> list[str]:
        return in_star_order(self.schema)

    def unknown(self, columns: frozenset[ColumnReference]) -> frozenset[ColumnReference]:
        return frozenset(column for column in columns if not self._knows(column))

    def _knows(self, column: ColumnReference) -> bool:
        return column.source in (None, self.alias) and self.aliased.has(column.name)

    def check_keys(self, sink: str, projection: Projection) -> None:
        keys = [ColumnReference(column.name) for column in self.schema.key]
        for key in keys:
            if not projection.contains(key) and not projection.contains(ColumnReference(key.name, self.alias)):
                raise keys_missing(sink, "key column", keys)

    def partitions(self, environment: Environment) -> int:
        return environment.partition_count(self.aliased.source.topic)

    def build(self, environment: Environment) -> Relation:
        source = self.aliased.source
        context = (self.name, "Source")
        step: Step
        if self.kind is SourceKind.STREAM:
            step = StreamSource(
                context, self.schema, source.topic, source.formats, source.schema, source.timestamp, source.window
            )
        else:
            step = TableSource(
                context,
                self.schema,
                source.topic,
                source.formats,
                source.schema,
                source.timestamp,
                source.window,
                self.key.internal(source.formats.value.format),
            )
        return Relation(step, self.kind, self.key)
