"""Expressions."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from lark import Token

from millstream.sql.errors import FunctionError, Location
from millstream.sql.parser.builders.types import TypeBuilder
from millstream.sql.parser.names import Name, PrepareError, place, unquote
from millstream.sql.parser.numbers import parse_number, time_unit
from millstream.sql.schema.time_text import parse_date, parse_time, parse_timestamp
from millstream.sql.schema.types import SqlType
from millstream.sql.tree import expressions as tree
from millstream.sql.tree.expressions import ArithmeticOperator, ComparisonOperator, Expression, LogicalOperator
from millstream.sql.tree.format import format_expression
from millstream.sql.tree.walk import rewrite

_COMPARISONS = {
    "EQ": ComparisonOperator.EQUAL,
    "NEQ": ComparisonOperator.NOT_EQUAL,
    "LT": ComparisonOperator.LESS_THAN,
    "LTE": ComparisonOperator.LESS_THAN_OR_EQUAL,
    "GT": ComparisonOperator.GREATER_THAN,
    "GTE": ComparisonOperator.GREATER_THAN_OR_EQUAL,
}

_TEMPORAL = {
    "DATE": (parse_date, tree.DateLiteral),
    "TIME": (parse_time, tree.TimeLiteral),
    "TIMESTAMP": (parse_timestamp, tree.TimestampLiteral),
}


@dataclass(frozen=True)
class _Parenthesis(Expression):
    """An expression in parentheses, for as long as it may still turn out to be the parameter of a lambda.

    Attributes:
        name: the name that is all there is in the parentheses.
    """

    inner: Expression
    name: str | None


class ExpressionBuilder(TypeBuilder):
    """Builds expressions."""

    def build_expression(self, tree: Any) -> Expression:
        """The expression a tree stands for."""
        return self._value(self.build(tree))

    # Literals.

    def null(self, at: Location) -> Expression:
        return tree.NullLiteral(at=at)

    def boolean(self, at: Location, token: Token) -> Expression:
        return tree.BooleanLiteral(token.type == "TRUE", at=at)

    def string(self, at: Location, token: Token) -> Expression:
        return tree.StringLiteral(unquote(token), at=at)

    def unsigned(self, at: Location, token: Token) -> Token:
        return token

    def negative(self, at: Location, minus: Token, digits: Token) -> Expression:
        return parse_number(digits, at, negative=True)

    def signed_literal(self, at: Location, number: tuple[Token, bool]) -> Expression:
        return parse_number(number[0], at, negative=number[1])

    def variable_literal(self, at: Location, token: Token) -> Expression:
        raise PrepareError(f"Illegal argument at {place(at)}. Got: '{token}'", at, plain=True)

    def typed_literal(self, at: Location, name: Name, token: Token) -> Expression:
        text = unquote(token)
        if name.text == "DECIMAL":
            try:
                return tree.DecimalLiteral(Decimal(text), at=at)
            except InvalidOperation as error:
                raise PrepareError(f"Invalid numeric literal: {text}", at) from error
        if name.text not in _TEMPORAL:
            raise PrepareError(f"Unknown type: {name.text}, location: {place(at)}", at)
        parse, literal = _TEMPORAL[name.text]
        try:
            return literal(parse(text), at=at)
        except FunctionError as error:
            raise PrepareError(f"Invalid {name.text} literal: {text}", at) from error

    # References.

    def column(self, at: Location, name: Name) -> Expression:
        return tree.ColumnReference(name.text, at=at)

    def qualified_column(self, at: Location, source: Name, name: Name) -> Expression:
        return tree.ColumnReference(name.text, source.text, at=at)

    def dereference(self, at: Location, base: Any, field: Name) -> Expression:
        return tree.Dereference(self._value(base), field.text, at=at)

    def subscript(self, at: Location, base: Any, index: Any) -> Expression:
        return tree.Subscript(self._value(base), self._value(index), at=at)

    def parenthesis(self, at: Location, inner: Any) -> Expression:
        is_name = isinstance(inner, tree.ColumnReference) and inner.source is None
        return _Parenthesis(self._value(inner), inner.name if is_name else None, at=at)

    # Operators.

    def logical(self, at: Location, left: Any, operator: Token, right: Any) -> Expression:
        kind = LogicalOperator[operator.type]
        return tree.Logical(kind, self._value(left), self._value(right), at=self.source.at(operator))

    def not_(self, at: Location, value: Any) -> Expression:
        return tree.Not(self._value(value), at=at)

    def comparison_operator(self, at: Location, operator: Token) -> Token:
        return operator

    def comparison(self, at: Location, left: Any, operator: Token, right: Any) -> Expression:
        kind = _COMPARISONS[operator.type]
        return tree.Comparison(kind, self._value(left), self._value(right), at=self.source.at(operator))

    def distinct(self, at: Location, left: Any, right: Any) -> Expression:
        kind = ComparisonOperator.IS_DISTINCT_FROM
        return tree.Comparison(kind, self._value(left), self._value(right), at=at)

    def not_distinct(self, at: Location, left: Any, right: Any) -> Expression:
        return tree.Not(self.distinct(at, left, right), at=at)

    def between(self, at: Location, value: Any, low: Any, high: Any) -> Expression:
        return tree.Between(self._value(value), self._value(low), self._value(high), at=at)

    def not_between(self, at: Location, value: Any, low: Any, high: Any) -> Expression:
        return tree.Not(self.between(at, value, low, high), at=at)

    def in_list(self, at: Location, value: Any, *choices: Any) -> Expression:
        return tree.InList(self._value(value), self._values(choices), at=at)

    def not_in_list(self, at: Location, value: Any, *choices: Any) -> Expression:
        return tree.Not(self.in_list(at, value, *choices), at=at)

    def like(self, at: Location, value: Any, pattern: Any, escape: Token | None) -> Expression:
        character = None if escape is None else unquote(escape)
        if escape is not None and character is not None and len(character) != 1:
            where = self.source.at(escape)
            raise PrepareError(f"{place(where)}: Expected single character escape but got: {character}", where)
        return tree.Like(self._value(value), self._value(pattern), character, at=at)

    def not_like(self, at: Location, value: Any, pattern: Any, escape: Token | None) -> Expression:
        return tree.Not(self.like(at, value, pattern, escape), at=at)

    def is_null(self, at: Location, value: Any) -> Expression:
        return tree.IsNull(self._value(value), at=at)

    def is_not_null(self, at: Location, value: Any) -> Expression:
        return tree.IsNotNull(self._value(value), at=at)

    def arithmetic(self, at: Location, left: Any, operator: Token, right: Any) -> Expression:
        kind = ArithmeticOperator(str(operator))
        return tree.Arithmetic(kind, self._value(left), self._value(right), at=self.source.at(operator))

    def concatenation(self, at: Location, left: Any, operator: Token, right: Any) -> Expression:
        return tree.FunctionCall("concat", self._values((left, right)), at=self.source.at(operator))

    def sign(self, at: Location, operator: Token, value: Any) -> Expression:
        return tree.Sign(operator.type == "MINUS", self._value(value), at=at)

    def at_time_zone(self, at: Location, value: Any, zone: Token) -> Expression:
        return tree.AtTimeZone(self._value(value), unquote(zone), at=at)

    # Calls and constructors.

    def cast(self, at: Location, value: Any, kind: SqlType) -> Expression:
        return tree.Cast(self._value(value), kind, at=at)

    def when(self, at: Location, condition: Any, result: Any) -> tree.When:
        return tree.When(self._value(condition), self._value(result), at=at)

    def simple_case(self, at: Location, operand: Any, *rest: Any) -> Expression:
        *whens, default = rest
        return tree.SimpleCase(self._value(operand), tuple(whens), self._optional(default), at=at)

    def searched_case(self, at: Location, *rest: Any) -> Expression:
        *whens, default = rest
        return tree.SearchedCase(tuple(whens), self._optional(default), at=at)

    def create_array(self, at: Location, *values: Any) -> Expression:
        return tree.CreateArray(self._values(values), at=at)

    def create_map(self, at: Location, *parts: Any) -> Expression:
        given = self._values(parts)
        entries: dict[Expression, Expression] = {}
        for key, value in zip(given[::2], given[1::2], strict=True):
            if key in entries:
                shown = format_expression(key)
                raise PrepareError(
                    f"Multiple entries with same key: {shown}={format_expression(entries[key])} "
                    f"and {shown}={format_expression(value)}",
                    key.at,
                )
            entries[key] = value
        return tree.CreateMap(tuple(entries.items()), at=at)

    def create_struct(self, at: Location, *parts: Any) -> Expression:
        given = [part for part in parts if part is not None]
        fields = zip(given[::2], given[1::2], strict=True)
        return tree.CreateStruct(tuple((name.text, self._value(value)) for name, value in fields), at=at)

    def interval_unit(self, at: Location, token: Token) -> Expression:
        return tree.IntervalUnit(time_unit(token), at=at)

    def function_call(self, at: Location, name: Name, *arguments: Any) -> Expression:
        return tree.FunctionCall(name.text, self._values(arguments), at=at)

    def lambda_function(self, at: Location, *parts: Any) -> Expression:
        *parameters, body = parts
        names = tuple(self._parameter(parameter) for parameter in parameters)

        def bind(part: Expression) -> Expression | None:
            if isinstance(part, tree.ColumnReference) and part.source is None and part.name in names:
                return tree.LambdaVariable(part.name, at=part.at)
            return None

        return tree.LambdaFunction(names, rewrite(self._value(body), bind), at=at)

    def _parameter(self, parameter: Name | _Parenthesis) -> str:
        if isinstance(parameter, Name):
            return parameter.text
        # `(x)` in front of an arrow: the grammar cannot tell it from an expression in parentheses.
        if parameter.name is None:
            raise PrepareError(f"{parameter.at}: The parameters of a lambda must be names", parameter.at)
        return parameter.name

    def _value(self, part: Any) -> Expression:
        """What was built, as a part of an expression around it."""
        if isinstance(part, Token):
            return parse_number(part, self.source.at(part))
        expression: Expression = part.inner if isinstance(part, _Parenthesis) else part
        return expression

    def _values(self, parts: tuple[Any, ...]) -> tuple[Expression, ...]:
        return tuple(self._value(part) for part in parts if part is not None)

    def _optional(self, part: Any) -> Expression | None:
        return None if part is None else self._value(part)
