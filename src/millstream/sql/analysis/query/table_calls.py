"""Calls of table functions in a projection."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.sql.errors import SqlError
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import Expression, FunctionCall, SearchedCase
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import children


@dataclass
class TableFunctionSearch:
    """Collects calls of table functions, in the order in which they were written."""

    functions: Registry
    found: list[FunctionCall] = field(default_factory=list)

    def visit(
        self,
        expression: Expression,
        *,
        grouped: bool,
        case: SearchedCase | None = None,
        outer: str | None = None,
    ) -> None:
        """Looks at a selected expression.

        Args:
            expression: what is selected, or a part of it.
            grouped: whether the query has aggregates.
            case: the CASE around the expression.
            outer: the table function around the expression.

        Raises:
            SqlError: a table function where none may be.
        """
        if isinstance(expression, SearchedCase):
            case = expression
        if isinstance(expression, FunctionCall) and self.functions.is_table_function(expression.name):
            if outer is not None:
                raise SqlError(f"Table functions cannot be nested: {quote(outer)}({quote(expression.name)}())")
            if grouped:
                raise SqlError("Table functions cannot be used with aggregations.")
            if case is not None:
                raise SqlError(f"Table functions cannot be used in CASE: {format_expression(case)}")
            outer = expression.name
            self.found.append(expression)
        for child in children(expression):
            self.visit(child, grouped=grouped, case=case, outer=outer)
