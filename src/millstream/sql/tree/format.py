"""Expressions as text: how messages show them, and how they are named in plans."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from decimal import Decimal

from millstream.sql.schema.types import SqlArray, SqlMap, SqlStruct, SqlType
from millstream.sql.tree import expressions as tree
from millstream.sql.tree.expressions import Expression

#: How a name is written: as it is, or in quotes.
Escape = Callable[[str], str]


def format_expression(expression: Expression, escape: Escape = str) -> str:
    """An expression as text; every operator is in parentheses.

    Args:
        expression: the expression.
        escape: puts quotes around names; by default none get any.

    >>> from millstream.sql.tree.expressions import Arithmetic, ArithmeticOperator, ColumnReference, IntegerLiteral
    >>> format_expression(Arithmetic(ArithmeticOperator.ADD, ColumnReference("A", "S"), IntegerLiteral(1)))
    '(S.A + 1)'
    """
    return _Formatter(escape).format(expression)


def format_type(kind: SqlType, escape: Escape = str) -> str:
    """A type as text, with the names of fields as `escape` writes them.

    >>> from millstream.sql.schema.types import STRING, Field
    >>> format_type(SqlStruct((Field("A", SqlArray(STRING)),)))
    'STRUCT<A ARRAY<STRING>>'
    """
    if isinstance(kind, SqlArray):
        return f"ARRAY<{format_type(kind.item, escape)}>"
    if isinstance(kind, SqlMap):
        return f"MAP<{format_type(kind.key, escape)}, {format_type(kind.value, escape)}>"
    if isinstance(kind, SqlStruct) and kind.fields:
        fields = (f"{escape(field.name)} {format_type(field.type, escape)}" for field in kind.fields)
        return f"STRUCT<{', '.join(fields)}>"
    return str(kind)


class _Formatter:
    def __init__(self, escape: Escape) -> None:
        self._escape = escape

    def format(self, expression: Expression) -> str:
        return _FORMATS[type(expression)](self, expression)

    def _list(self, expressions: Iterable[Expression]) -> str:
        return ", ".join(map(self.format, expressions))

    def null(self, node: tree.NullLiteral) -> str:
        return "null"

    def boolean(self, node: tree.BooleanLiteral) -> str:
        return "true" if node.value else "false"

    def number(self, node: tree.IntegerLiteral | tree.LongLiteral | tree.DecimalLiteral) -> str:
        return str(node.value)

    def double(self, node: tree.DoubleLiteral) -> str:
        return _scientific(node.value)

    def string(self, node: tree.StringLiteral) -> str:
        return _quote(node.value)

    def bytes(self, node: tree.BytesLiteral) -> str:
        signed = (str(byte - 256 if byte > 127 else byte) for byte in node.value)
        return f"ByteBuffer.wrap(new byte[]{{{','.join(signed)}}})"

    def date(self, node: tree.DateLiteral) -> str:
        return _moment(node.value * 86_400_000, "%Y-%m-%d")

    def time(self, node: tree.TimeLiteral) -> str:
        text = _moment(node.value, "%H:%M:%S.%f")[:-3]
        return text.removesuffix(".000").removesuffix(":00")

    def timestamp(self, node: tree.TimestampLiteral) -> str:
        return _moment(node.value, "%Y-%m-%dT%H:%M:%S.%f")[:-3]

    def interval_unit(self, node: tree.IntervalUnit) -> str:
        return node.unit.name

    def column(self, node: tree.ColumnReference) -> str:
        name = self._escape(node.name)
        return name if node.source is None else f"{self._escape(node.source)}.{name}"

    def dereference(self, node: tree.Dereference) -> str:
        return f"{self.format(node.base)}->{self._escape(node.field)}"

    def subscript(self, node: tree.Subscript) -> str:
        return f"{self.format(node.base)}[{self.format(node.index)}]"

    def variable(self, node: tree.LambdaVariable) -> str:
        return node.name

    def binary(self, node: tree.Arithmetic | tree.Comparison | tree.Logical) -> str:
        return f"({self.format(node.left)} {node.operator.value} {self.format(node.right)})"

    def sign(self, node: tree.Sign) -> str:
        value = self.format(node.value)
        if not node.negative:
            return f"+{value}"
        # Two minus signs would begin a comment.
        return f"- {value}" if value.startswith("-") else f"-{value}"

    def not_(self, node: tree.Not) -> str:
        return f"(NOT {self.format(node.value)})"

    def between(self, node: tree.Between) -> str:
        return f"({self.format(node.value)} BETWEEN {self.format(node.low)} AND {self.format(node.high)})"

    def in_list(self, node: tree.InList) -> str:
        return f"({self.format(node.value)} IN ({self._list(node.choices)}))"

    def like(self, node: tree.Like) -> str:
        escape = "" if node.escape is None else f" ESCAPE '{node.escape}'"
        return f"({self.format(node.value)} LIKE {self.format(node.pattern)}{escape})"

    def is_null(self, node: tree.IsNull) -> str:
        return f"({self.format(node.value)} IS NULL)"

    def is_not_null(self, node: tree.IsNotNull) -> str:
        return f"({self.format(node.value)} IS NOT NULL)"

    def when(self, node: tree.When) -> str:
        return f"WHEN {self.format(node.condition)} THEN {self.format(node.result)}"

    def searched_case(self, node: tree.SearchedCase) -> str:
        return self._case([], node.whens, node.default)

    def simple_case(self, node: tree.SimpleCase) -> str:
        return self._case([self.format(node.operand)], node.whens, node.default)

    def _case(self, operand: list[str], whens: tuple[tree.When, ...], default: Expression | None) -> str:
        otherwise = [] if default is None else ["ELSE", self.format(default)]
        return f"({' '.join(['CASE', *operand, *map(self.format, whens), *otherwise, 'END'])})"

    def cast(self, node: tree.Cast) -> str:
        return f"CAST({self.format(node.value)} AS {format_type(node.type, self._escape)})"

    def at_time_zone(self, node: tree.AtTimeZone) -> str:
        return f"({self.format(node.value)} AT TIME ZONE {_quote(node.zone)})"

    def call(self, node: tree.FunctionCall) -> str:
        arguments = self._list(node.arguments)
        if not node.arguments and node.name == "COUNT":
            arguments = "*"
        return f"{self._escape(node.name)}({arguments})"

    def lambda_function(self, node: tree.LambdaFunction) -> str:
        return f"({', '.join(node.parameters)}) => {self.format(node.body)}"

    def create_array(self, node: tree.CreateArray) -> str:
        return f"ARRAY[{self._list(node.values)}]"

    def create_map(self, node: tree.CreateMap) -> str:
        entries = (f"{self.format(key)}:={self.format(value)}" for key, value in node.entries)
        return f"MAP({', '.join(entries)})"

    def create_struct(self, node: tree.CreateStruct) -> str:
        fields = (f"{self._escape(name)}:={self.format(value)}" for name, value in node.fields)
        return f"STRUCT({', '.join(fields)})"


_FORMATS: dict[type[Expression], Callable[..., str]] = {
    tree.NullLiteral: _Formatter.null,
    tree.BooleanLiteral: _Formatter.boolean,
    tree.IntegerLiteral: _Formatter.number,
    tree.LongLiteral: _Formatter.number,
    tree.DecimalLiteral: _Formatter.number,
    tree.DoubleLiteral: _Formatter.double,
    tree.StringLiteral: _Formatter.string,
    tree.BytesLiteral: _Formatter.bytes,
    tree.DateLiteral: _Formatter.date,
    tree.TimeLiteral: _Formatter.time,
    tree.TimestampLiteral: _Formatter.timestamp,
    tree.IntervalUnit: _Formatter.interval_unit,
    tree.ColumnReference: _Formatter.column,
    tree.Dereference: _Formatter.dereference,
    tree.Subscript: _Formatter.subscript,
    tree.LambdaVariable: _Formatter.variable,
    tree.Arithmetic: _Formatter.binary,
    tree.Comparison: _Formatter.binary,
    tree.Logical: _Formatter.binary,
    tree.Sign: _Formatter.sign,
    tree.Not: _Formatter.not_,
    tree.Between: _Formatter.between,
    tree.InList: _Formatter.in_list,
    tree.Like: _Formatter.like,
    tree.IsNull: _Formatter.is_null,
    tree.IsNotNull: _Formatter.is_not_null,
    tree.When: _Formatter.when,
    tree.SearchedCase: _Formatter.searched_case,
    tree.SimpleCase: _Formatter.simple_case,
    tree.Cast: _Formatter.cast,
    tree.AtTimeZone: _Formatter.at_time_zone,
    tree.FunctionCall: _Formatter.call,
    tree.LambdaFunction: _Formatter.lambda_function,
    tree.CreateArray: _Formatter.create_array,
    tree.CreateMap: _Formatter.create_map,
    tree.CreateStruct: _Formatter.create_struct,
}


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _scientific(value: float) -> str:
    """A number with one digit before the point and an exponent, as many digits as it takes to tell it from others."""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    whole, rest = digits[0], "".join(map(str, digits[1:]))
    power = int(exponent) + len(digits) - 1 if any(digits) else 0
    return f"{'-' if sign else ''}{whole}{'.' if rest else ''}{rest}E{power}"


def _moment(milliseconds: int, pattern: str) -> str:
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (epoch + datetime.timedelta(milliseconds=milliseconds)).strftime(pattern)
