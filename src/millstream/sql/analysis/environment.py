"""What planning may ask about the world around the query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from millstream.sql.analysis.request import PartitionCount
from millstream.sql.errors import SqlError
from millstream.sql.expressions import Scope, infer
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Encoding, FormatInfo
from millstream.sql.schema.types import SqlType
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import Expression


@dataclass(frozen=True)
class Environment:
    """Functions, settings and topics."""

    functions: Registry
    settings: Settings
    partition_count: PartitionCount

    def type_of(self, expression: Expression, schema: Schema) -> SqlType | None:
        """The type of an expression over the rows of a schema; None for NULL."""
        return infer(expression, self.scope(schema))

    def known_type(self, expression: Expression, schema: Schema) -> SqlType:
        """The type of an expression that a column can be made of.

        Raises:
            SqlError: the expression is NULL.
        """
        found = self.type_of(expression, schema)
        if found is None:
            raise SqlError(
                "Can't infer a type of null. Please explicitly cast it to a required type, e.g. CAST(null AS VARCHAR)."
            )
        return found

    def known_types(self, expressions: Iterable[Expression], schema: Schema) -> Sequence[SqlType]:
        """The types of expressions that columns can be made of."""
        return [self.known_type(expression, schema) for expression in expressions]

    def scope(self, schema: Schema) -> Scope:
        """What the columns of the rows of a schema are."""
        return Scope.of(schema, self.functions, self.settings)

    @property
    def default_key(self) -> Encoding:
        """How keys are encoded where nobody says it."""
        return Encoding(FormatInfo(str(self.settings.get("ksql.persistence.default.format.key", "KAFKA"))))
