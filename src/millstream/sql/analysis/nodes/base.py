"""What all nodes have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.query.projection import Projection
from millstream.sql.analysis.query.sources import AliasedSource
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.schema.columns import SYSTEM_COLUMNS, WINDOW_BOUNDS, Schema
from millstream.sql.schema.formats import FormatInfo
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.statements import SourceKind


class Node(ABC):
    """A part of the logical plan.

    Attributes:
        schema: the key columns and the row that it gives.
        kind: whether it gives a stream or a table.
        alias: the name of the source that all its columns come from, if there is only one.
        inputs: the nodes it takes records from.
    """

    schema: Schema
    kind: SourceKind
    alias: str | None
    inputs: tuple[Node, ...]

    def sources(self) -> list[AliasedSource]:
        """The sources below it, left to right."""
        return [source for node in self.inputs for source in node.sources()]

    @property
    def value_format(self) -> FormatInfo:
        """What rows are encoded with on the way: the format of the leftmost source."""
        return self.sources()[0].source.formats.value.format

    def star(self, alias: str | None) -> list[str]:
        """The columns that `*`, or `alias.*`, stands for."""
        return [
            name
            for node in self.inputs
            if alias is None or node.alias is None or alias == node.alias
            for name in node.star(alias)
        ]

    def resolve(self, index: int, expression: Expression) -> Expression:
        """The selected expression at a position, in terms of the schema."""
        return expression

    def unknown(self, columns: frozenset[ColumnReference]) -> frozenset[ColumnReference]:
        """Those of the columns that do not exist."""
        (source,) = self.inputs
        return source.unknown(columns)

    def check_keys(self, sink: str, projection: Projection) -> None:
        """See that the projection of a persistent query holds the key.

        Raises:
            SqlError: it does not.
        """
        for node in self.inputs:
            node.check_keys(sink, projection)

    def partitions(self, environment: Environment) -> int:
        """How many partitions its records are spread over."""
        return self.inputs[0].partitions(environment)

    @abstractmethod
    def build(self, environment: Environment) -> Relation:
        """The steps that do it."""


def in_star_order(schema: Schema) -> list[str]:
    """The columns of a row as `*` shows them: the key first, then window bounds, then the others."""
    keys = [column.name for column in schema.key]
    row = [column.name for column in schema.value]
    return [
        *(name for name in keys if name in row),
        *(name for name in row if name in WINDOW_BOUNDS),
        *(name for name in row if name not in SYSTEM_COLUMNS and name not in keys),
    ]
