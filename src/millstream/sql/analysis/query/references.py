"""Whether the columns that expressions name exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.sql.analysis.names import joined_name, may_be_synthetic_key
from millstream.sql.analysis.wording import place
from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import WINDOW_BOUNDS, Schema
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import references, rewrite


class UnknownColumn(SqlError):
    """A column that none of the sources has."""

    def __init__(self, clause: str, column: ColumnReference, why: str = "cannot be resolved.") -> None:
        what = f"{clause} column" if clause else "Column"
        super().__init__(f"{place(column.at)}{what} '{format_expression(column)}' {why}")
        self.column = column


@dataclass(frozen=True)
class ReferenceCheck:
    """Looks up the columns of expressions.

    Attributes:
        rows: the columns of each source, by the name it has in the query.
        synthetic_keys: the projection may name key columns that a join makes; they are looked up later.
    """

    rows: Mapping[str, Schema]
    synthetic_keys: bool = False

    def sources_of(self, expression: Expression, clause: str) -> set[str]:
        """The sources whose columns an expression uses.

        Raises:
            UnknownColumn: a column does not exist.
        """
        used = set()
        for column in references(expression):
            found = [name for name, schema in self.rows.items() if _has(schema, column, name)]
            if not found:
                if self._may_be_synthetic(column, clause):
                    continue
                raise UnknownColumn(clause, column)
            if column.source is None and len(found) > 1 and column.name in WINDOW_BOUNDS:
                # The bounds of a windowed aggregate over a join belong to none of its sources.
                raise UnknownColumn(clause, column)
            used.add(found[0])
        return used

    def _may_be_synthetic(self, column: ColumnReference, clause: str) -> bool:
        return (
            self.synthetic_keys
            and len(self.rows) > 1
            and column.source is None
            and clause == "SELECT"
            and may_be_synthetic_key(column.name)
        )


def _has(schema: Schema, column: ColumnReference, source: str) -> bool:
    return column.source in (None, source) and schema.find(column.name) is not None


def unqualified(expression: Expression, *, joined: bool) -> Expression:
    """An expression whose columns are named as the rows name them: `S.ID` is S_ID in a join, and ID elsewhere."""

    def plain(node: Expression) -> Expression | None:
        if not isinstance(node, ColumnReference) or node.source is None:
            return None
        name = joined_name(node.source, node.name) if joined else node.name
        return replace(node, name=name, source=None)

    return rewrite(expression, plain)
