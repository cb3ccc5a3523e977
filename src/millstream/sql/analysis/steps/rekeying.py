"""New keys: when they are needed, what they are called, and how they are encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.names import Aliases
from millstream.sql.analysis.schemas import Typed, checked, typed
from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.errors import SqlError
from millstream.sql.formats import key_encoding
from millstream.sql.plan.steps import StreamSelectKey, TableSelectKey
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import FormatInfo
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.expressions import ColumnReference, Expression, NullLiteral
from millstream.sql.tree.format import format_expression

_WINDOWED = (
    "Implicit repartitioning of windowed sources is not supported. "
    "See https://github.com/confluentinc/ksql/issues/4385."
)


def is_null_key(expressions: Sequence[Expression]) -> bool:
    """Whether PARTITION BY takes the key away.

    Raises:
        SqlError: NULL is one of several columns.
    """
    if not any(isinstance(expression, NullLiteral) for expression in expressions):
        return False
    if len(expressions) > 1:
        raise SqlError("Cannot PARTITION BY multiple columns including NULL")
    return True


def repartition_needed(schema: Schema, expressions: Sequence[Expression]) -> bool:
    """Whether a key of the expressions is another than that of the schema."""
    names = [expression.name if isinstance(expression, ColumnReference) else None for expression in expressions]
    keys: list[str | None] = [column.name for column in schema.key]
    return not keys or keys != names


def key_columns(expressions: Sequence[Expression], types: Sequence[SqlType], schema: Schema) -> list[Typed]:
    """Names and types of key columns made of expressions: columns keep their names, others get new ones."""
    aliases = Aliases([schema])
    return [
        (expression.name if isinstance(expression, ColumnReference) else aliases.for_expression(expression), kind)
        for expression, kind in zip(expressions, types, strict=True)
    ]


def rekeyed_schema(schema: Schema, expressions: Sequence[Expression], environment: Environment) -> Schema:
    """The schema after PARTITION BY: the row keeps all it had, and gets the key columns it had not."""
    if is_null_key(expressions):
        return Schema.of((), typed(schema.value))
    keys = key_columns(expressions, environment.known_types(expressions, schema), schema)
    added = [key for key, expression in zip(keys, expressions, strict=True) if not _is_column(expression)]
    return checked(Schema.of(keys, [*typed(schema.value), *added]))


def _is_column(expression: Expression) -> bool:
    return isinstance(expression, ColumnReference)


@dataclass(frozen=True)
class Rekeying:
    """What the key shall be.

    Attributes:
        expressions: the key columns.
        value: how rows are encoded on the way.
        key: how the key must be encoded; None to leave it as it is.
        always: rewrite the key even if nothing about it changes: the ids of schemas inside it may differ.
    """

    expressions: tuple[Expression, ...]
    value: FormatInfo
    key: KeyFormat | None = None
    always: bool = False

    def apply(self, relation: Relation, context: tuple[str, ...], environment: Environment) -> Relation:
        """Gives records the key, if they do not have it.

        Raises:
            SqlError: the records cannot be given another key.
        """
        needed = repartition_needed(relation.schema, self.expressions)
        changes = self.key is not None and self.key != relation.key
        if not needed and not changes and not self.always:
            return relation
        if relation.is_table:
            self._check_table(relation, needed=needed)
        elif relation.key.window is not None and (needed or not self.always):
            raise SqlError(_WINDOWED)
        schema = rekeyed_schema(relation.schema, self.expressions, environment)
        key = self._new_key(relation, schema)
        make = TableSelectKey if relation.is_table else StreamSelectKey
        step = make(context, schema, relation.step, self.expressions, key.internal(self.value))
        return relation.then(step, key=key)

    def _new_key(self, relation: Relation, schema: Schema) -> KeyFormat:
        wanted = self.key or relation.key
        if not schema.key:
            return wanted
        types = [column.type for column in schema.key]
        return KeyFormat(key_encoding(wanted.encoding, types, may_change=not relation.is_table), wanted.window)

    def _check_table(self, relation: Relation, *, needed: bool) -> None:
        keys = relation.schema.key
        if len(keys) > 1:
            raise SqlError(
                "Cannot repartition a TABLE source. If this is a join, joins on tables with multiple columns is not "
                "yet supported."
            )
        if needed:
            wanted = ", ".join(map(format_expression, self.expressions))
            raise SqlError(
                "Cannot repartition a TABLE source. If this is a join, make sure that the criteria uses the TABLE's "
                f"key column {keys[0].name} instead of [{wanted}]"
            )
        if relation.key.window is not None:
            raise SqlError(
                _WINDOWED + " As a result, ksqlDB does not support joins on windowed sources with "
                "Schema-Registry-enabled key formats (AVRO, JSON_SR, PROTOBUF) at this time. "
                "Please repartition your sources to use a different key format before performing the join."
                if self.always
                else _WINDOWED
            )
