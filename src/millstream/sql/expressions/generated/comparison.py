"""Writes comparisons, BETWEEN, IN and LIKE: NULL makes them FALSE, not NULL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions import decimals
from millstream.sql.expressions.conversions.casts import date_to_timestamp
from millstream.sql.expressions.generated import runtime
from millstream.sql.expressions.generated.code import UNKNOWN, Code
from millstream.sql.expressions.inference.coercion import coerce_all
from millstream.sql.expressions.inference.infer import infer
from millstream.sql.functions.java.ordering import order_key
from millstream.sql.schema.time_text import parse_date, parse_time, parse_timestamp
from millstream.sql.schema.types import BOOLEAN, BaseType, SqlArray, SqlMap, SqlStruct
from millstream.sql.tree.expressions import Between, Comparison, ComparisonOperator, InList, Like, NullLiteral
from millstream.sql.tree.format import format_expression

if TYPE_CHECKING:
    from millstream.sql.expressions.generated.generator import Generator

#: What a comparison asks once neither side is NULL.
_OPERATORS = {
    ComparisonOperator.EQUAL: "==",
    ComparisonOperator.IS_NOT_DISTINCT_FROM: "==",
    ComparisonOperator.NOT_EQUAL: "!=",
    ComparisonOperator.IS_DISTINCT_FROM: "!=",
    ComparisonOperator.LESS_THAN: "<",
    ComparisonOperator.LESS_THAN_OR_EQUAL: "<=",
    ComparisonOperator.GREATER_THAN: ">",
    ComparisonOperator.GREATER_THAN_OR_EQUAL: ">=",
}
_DISTINCT = {ComparisonOperator.IS_DISTINCT_FROM, ComparisonOperator.IS_NOT_DISTINCT_FROM}
_PARSERS: dict[BaseType, Callable[[str], int]] = {
    BaseType.TIME: parse_time,
    BaseType.TIMESTAMP: parse_timestamp,
    BaseType.DATE: parse_date,
}


def comparison(generator: Generator, operator: ComparisonOperator, left: Code, right: Code) -> Code:
    """The code of a comparison; the types have been checked."""
    test = _test_of(generator, operator, left, right)
    raises = left.raises or right.raises or test.raises
    if test.plain and operator in _DISTINCT:
        text = f"({left.text} {test.symbol} {right.text})"
    elif test.plain and operator is ComparisonOperator.EQUAL:
        # NULL equals only NULL: one side that is not NULL is enough.
        first, again = generator.twice(left)
        both = left.nullable and right.nullable
        text = f"({first} is not None and {again} == {right.text})" if both else f"({left.text} == {right.text})"
    elif operator in _DISTINCT and left.nullable and right.nullable:
        one, other = generator.twice(left), generator.twice(right)
        same = "is" if operator is ComparisonOperator.IS_NOT_DISTINCT_FROM else "is not"
        nulls = f"({one[1]} is None) {same} ({other[1]} is None)"
        text = f"({nulls} if ({one[0]} is None) | ({other[0]} is None) else {test.write(one[1], other[1])})"
    else:
        nullable: list[str] = []
        operands = [_checked(generator, code, nullable, often=not test.plain) for code in (left, right)]
        if operator is ComparisonOperator.IS_DISTINCT_FROM:
            text = " or ".join([*(f"{each} is None" for each in nullable), test.write(*operands)])
        else:
            text = " and ".join([*(f"{each} is not None" for each in nullable), test.write(*operands)])
        text = f"({text})"
    return generator.folded(Code(text, BOOLEAN, nullable=False, raises=raises), left, right)


def _checked(generator: Generator, code: Code, nullable: list[str], often: bool) -> str:
    """The text of an operand; what is to be tested for NULL before is added to `nullable`."""
    if not code.nullable and (code.atom or not often):
        return code.text
    first, again = generator.twice(code)
    nullable.append(first)
    return again


@dataclass(frozen=True)
class _Test:
    """A comparison of values that are not NULL.

    Attributes:
        symbol: Python's operator.
        form: how it is written, with `{a}`, `{b}` and `{op}`.
        plain: Python's operator does it.
    """

    symbol: str
    form: str = "{a} {op} {b}"
    plain: bool = True
    raises: bool = False

    def write(self, left: str, right: str) -> str:
        return self.form.format(a=left, b=right, op=self.symbol)


def _test_of(generator: Generator, operator: ComparisonOperator, left: Code, right: Code) -> _Test:
    symbol = _OPERATORS[operator]
    bases = (left.type.base, right.type.base)
    if any(base.is_time for base in bases):
        return _time_test(generator, symbol, left, right)
    if BaseType.DECIMAL in bases:
        sides = [_exact(generator, code, side) for code, side in ((left, "{a}"), (right, "{b}"))]
        plain = BaseType.DOUBLE not in bases
        return _Test(symbol, f"{sides[0]} {{op}} {sides[1]}", plain=plain, raises=not plain)
    if BaseType.DOUBLE in bases:
        # A BIGINT is rounded before it is compared with a DOUBLE; no number is neither equal nor unequal to any.
        sides = ["float({a})" if left.base is BaseType.BIGINT else "{a}"]
        sides.append("float({b})" if right.base is BaseType.BIGINT else "{b}")
        if symbol == "!=":
            return _Test(symbol, f"({sides[0]} < {sides[1]} or {sides[0]} > {sides[1]})", plain=False)
        return _Test(symbol, f"{sides[0]} {{op}} {sides[1]}", plain=BaseType.BIGINT not in bases and symbol != "==")
    if symbol in ("==", "!="):
        return _equality_test(symbol, left, right)
    if any(code.is_constant and isinstance(code.value, str) and code.value.isascii() for code in (left, right)):
        # Python orders by code points, Java by UTF-16 units: the same as soon as one side is ASCII.
        return _Test(symbol)
    key = order_key(left.type)
    if key is not None:
        name = generator.function(key, "ordered")
        return _Test(symbol, f"{name}({{a}}) {{op}} {name}({{b}})", plain=False)
    return _Test(symbol)


def _equality_test(symbol: str, left: Code, right: Code) -> _Test:
    """Structs of different types are never equal; arrays and maps of different types only when they are empty."""
    if left.kind == right.kind or not isinstance(left.kind, (SqlArray, SqlMap, SqlStruct)):
        return _Test(symbol)
    equal = "False" if isinstance(left.kind, SqlStruct) else "(not {a} and not {b})"
    return _Test(symbol, equal if symbol == "==" else f"(not {equal})", plain=False)


def _exact(generator: Generator, code: Code, side: str) -> str:
    return f"{generator.function(decimals.double_value)}({side})" if code.base is BaseType.DOUBLE else side


def _time_test(generator: Generator, symbol: str, left: Code, right: Code) -> _Test:
    bases = (left.base, right.base)
    common = next(base for base in (BaseType.TIME, BaseType.TIMESTAMP, BaseType.DATE) if base in bases)
    sides, plain = [], True
    for code, side in ((left, "{a}"), (right, "{b}")):
        if code.base is common:
            sides.append(side)
        elif code.base is BaseType.DATE:
            plain = False
            sides.append(f"{generator.function(date_to_timestamp)}({side})")
        else:
            plain = False
            sides.append(_parsed_text(generator, code, side, _PARSERS[common]))
    # Only a text that was parsed just now cannot fail any more.
    raises = BaseType.STRING in bases and not any(side.lstrip("-").isdigit() for side in sides)
    return _Test(symbol, f"{sides[0]} {{op}} {sides[1]}", plain=plain, raises=raises)


def _parsed_text(generator: Generator, code: Code, side: str, parse: Callable[[str], int]) -> str:
    if code.is_constant:
        try:
            return repr(parse(code.value))
        except SqlError as error:
            # Not an error of the statement: each record tells it.
            message = generator.names.of("message", error.primary)
            return f"{generator.function(runtime.fail)}({message})"
    return f"{generator.function(parse)}({side})"


def between(generator: Generator, expression: Between) -> Code:
    """The code of BETWEEN: two comparisons."""
    for operator, bound in (
        (ComparisonOperator.GREATER_THAN_OR_EQUAL, expression.low),
        (ComparisonOperator.LESS_THAN_OR_EQUAL, expression.high),
    ):
        infer(Comparison(operator, expression.value, bound), generator.scope)
    value = generator.value(expression.value)
    low = comparison(generator, ComparisonOperator.GREATER_THAN_OR_EQUAL, value, generator.value(expression.low))
    with generator.conditionally():
        repeated = value if value.atom else generator.value(expression.value)
        high = comparison(generator, ComparisonOperator.LESS_THAN_OR_EQUAL, repeated, generator.value(expression.high))
    code = Code(f"({low.text} and {high.text})", BOOLEAN, nullable=False, raises=low.raises or high.raises)
    return generator.folded(code, low, high)


def in_list(generator: Generator, expression: InList) -> Code:
    """The code of IN."""
    choices = [choice for choice in expression.choices if not isinstance(choice, NullLiteral)]
    kind, coerced = coerce_all([expression.value, *choices], generator.scope, infer)
    value = generator.value(coerced[0])
    with generator.conditionally():
        options = [generator.value(choice) for choice in coerced[1:]]
    if kind is None or not options or value.value is None:
        return Code("False", BOOLEAN, nullable=False, atom=True, value=False)
    raises = value.raises or any(option.raises for option in options)
    nested = isinstance(kind, (SqlArray, SqlMap, SqlStruct))
    if not nested and all(option.is_constant for option in options):
        found = generator.names.of("choices", frozenset(option.value for option in options))
        return generator.folded(Code(f"({value.text} in {found})", BOOLEAN, nullable=False, raises=raises), value)
    first, again = generator.twice(value)
    tests = " or ".join(f"{again} == {option.text}" for option in options)
    if not value.is_constant:
        tests = f"{first} is not None and ({tests})"
    return Code(f"({tests})", BOOLEAN, nullable=False, raises=raises)


def like(generator: Generator, expression: Like, quiet: bool) -> Code:
    """The code of LIKE; NULL is an error."""
    value, pattern = generator.value(expression.value), generator.value(expression.pattern)
    for code, part in ((value, expression.value), (pattern, expression.pattern)):
        if code.base is not BaseType.STRING:
            raise SqlError(f"LIKE compares text, got: {format_expression(part)} ({code.kind or 'null'})")
    if not pattern.is_constant:
        function = generator.function(runtime.like)
        text = f"{function}({value.text}, {pattern.text}, {expression.escape!r})"
        return Code(text, BOOLEAN, nullable=False, raises=True)
    matches = generator.names.of("matches", runtime.like_pattern(pattern.value, expression.escape).fullmatch)
    raises = value.raises
    if quiet and value.nullable:
        first, again = generator.twice(value)
        text = f"(None if {first} is None else {matches}({again}) is not None)"
        return Code(text, BOOLEAN, raises=raises)
    code = Code(f"({matches}({value.text}) is not None)", BOOLEAN, nullable=False, raises=raises or value.nullable)
    return code if value.value is UNKNOWN else generator.folded(code, value)
