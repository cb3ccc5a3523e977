"""Steps that make rows of expressions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.schemas import checked
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.plan.steps import Selected, StreamSelect, TableSelect
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import FormatInfo


def select(
    relation: Relation,
    key_names: Sequence[str],
    selected: Sequence[Selected],
    context: tuple[str, ...],
    value: FormatInfo,
    environment: Environment,
) -> Relation:
    """Rows of the selected columns; the key columns only change their names."""
    keys = [(name, column.type) for name, column in zip(key_names, relation.schema.key, strict=False)]
    made = [(column.name, environment.known_type(column.expression, relation.schema)) for column in selected]
    schema = checked(Schema.of(keys, made))
    if relation.is_table:
        formats = relation.key.internal(value)
        return relation.then(TableSelect(context, schema, relation.step, tuple(selected), formats))
    return relation.then(StreamSelect(context, schema, relation.step, tuple(selected)))
