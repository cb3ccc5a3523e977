"""Writes arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.sql.errors import SqlError
from millstream.sql.expressions.conversions import decimals, numbers
from millstream.sql.expressions.generated.code import RANGES, UNKNOWN, Code
from millstream.sql.expressions.inference.infer import infer
from millstream.sql.schema.java_numbers import wrap_bigint, wrap_integer
from millstream.sql.schema.types import BaseType, SqlDecimal, SqlType
from millstream.sql.tree.expressions import Arithmetic, ArithmeticOperator, Expression, Sign

if TYPE_CHECKING:
    from millstream.sql.expressions.generated.generator import Generator

ARITHMETIC = (Arithmetic, Sign)

_WRAPPERS = {BaseType.INTEGER: wrap_integer, BaseType.BIGINT: wrap_bigint}
_RING = {ArithmeticOperator.ADD, ArithmeticOperator.SUBTRACT, ArithmeticOperator.MULTIPLY}


def arithmetic(generator: Generator, expression: Arithmetic | Sign, quiet: bool) -> Code:
    """The code of arithmetic. When `quiet`, operands that are NULL make it NULL."""
    checks: list[str] | None = [] if quiet else None
    code = cut(generator, _operation(generator, expression, checks))
    if checks:
        text = f"(None if {' or '.join(dict.fromkeys(checks))} else {code.text})"
        return code.but(text=text, nullable=True, atom=False)
    return code


def cut(generator: Generator, code: Code) -> Code:
    """The code, its value cut to the bits of its type."""
    if not code.wraps:
        return code
    low, high = RANGES[code.type]
    name = generator.names.temporary()
    wrap = generator.function(_WRAPPERS[code.type.base])
    text = f"({name} if {low} <= ({name} := {code.text}) <= {high} else {wrap}({name}))"
    return generator.folded(code.but(text=text, wraps=False, bounds=None, atom=False, value=UNKNOWN), code)


def _operand(generator: Generator, expression: Expression, checks: list[str] | None) -> Code:
    if isinstance(expression, ARITHMETIC):
        return _operation(generator, expression, checks)
    code = generator.value(expression, quiet=checks is not None)
    if checks is None:
        return code.but(raises=code.raises or code.nullable)
    if code.nullable:
        first, again = generator.twice(code)
        checks.append(f"{first} is None")
        return code.but(text=again, nullable=False, atom=True)
    return code


def _operation(generator: Generator, expression: Arithmetic | Sign, checks: list[str] | None) -> Code:
    if isinstance(expression, Sign):
        return _sign(generator, expression, _operand(generator, expression.value, checks))
    kind = infer(expression, generator.scope)
    if kind is None or kind.base is BaseType.STRING:
        return _concatenation(generator, expression, kind)
    left = _operand(generator, expression.left, checks)
    right = _operand(generator, expression.right, checks)
    operator = expression.operator
    if operator not in _RING or left.kind != kind:
        left = cut(generator, left)
    if operator not in _RING or right.kind != kind:
        right = cut(generator, right)
    if isinstance(kind, SqlDecimal):
        code = _decimal(generator, operator, left, right, kind)
    elif kind.base is BaseType.DOUBLE:
        code = _double(generator, operator, left, right)
    else:
        code = _whole(generator, operator, left, right, kind)
    code = code.but(kind=kind, nullable=False, raises=code.raises or left.raises or right.raises)
    return generator.folded(code, left, right)


def _sign(generator: Generator, sign: Sign, operand: Code) -> Code:
    if operand.kind is None or not operand.kind.base.is_number:
        word = "Negation" if sign.negative else "Unary plus"
        raise SqlError(f"{word} on unsupported type: {operand.kind or 'null'}")
    if not sign.negative:
        return operand.but(nullable=False)
    if isinstance(operand.kind, SqlDecimal):
        negate = generator.function(decimals.negate, "negate")
        return generator.folded(Code(f"{negate}({operand.text})", operand.kind, False, operand.raises), operand)
    code = Code(f"(-{operand.text})", operand.kind, nullable=False, raises=operand.raises)
    if operand.kind.base is not BaseType.DOUBLE:
        low, high = operand.range()
        code = _bounded(code, (-high, -low), operand.wraps)
    return generator.folded(code, operand)


def _bounded(code: Code, bounds: tuple[int, int], wraps: bool) -> Code:
    low, high = RANGES[code.type]
    return code.but(bounds=bounds, wraps=wraps or bounds[0] < low or bounds[1] > high)


def _whole(generator: Generator, operator: ArithmeticOperator, left: Code, right: Code, kind: SqlType) -> Code:
    if operator in _RING:
        code = Code(f"({left.text} {operator.value} {right.text})", kind)
        return _bounded(code, _ring_bounds(operator, left.range(), right.range()), left.wraps or right.wraps)
    zero = right.range()[0] <= 0 <= right.range()[1]
    if operator is ArithmeticOperator.MODULUS:
        largest = max(map(abs, right.range()))
        if left.range()[0] >= 0 and right.range()[0] > 0:
            text = f"({left.text} % {right.text})"
        else:
            text = f"{generator.function(numbers.remainder_whole)}({left.text}, {right.text})"
        return Code(text, kind, raises=zero, bounds=(-largest, largest))
    if left.range()[0] >= 0 and right.range()[0] > 0:
        text = f"({left.text} // {right.text})"
    else:
        text = f"{generator.function(numbers.divide_whole)}({left.text}, {right.text})"
    if right.range()[0] <= -1 <= right.range()[1]:  # only by -1 can the least number become too large
        reach = max(map(abs, left.range()))
        return _bounded(Code(text, kind, raises=zero), (-reach, reach), False)
    return Code(text, kind, raises=zero)


def _ring_bounds(operator: ArithmeticOperator, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    match operator:
        case ArithmeticOperator.ADD:
            return left[0] + right[0], left[1] + right[1]
        case ArithmeticOperator.SUBTRACT:
            return left[0] - right[1], left[1] - right[0]
    corners = [one * other for one in left for other in right]
    return min(corners), max(corners)


def _double(generator: Generator, operator: ArithmeticOperator, left: Code, right: Code) -> Code:
    one, other = _as_double(left), _as_double(right)
    match operator:
        case ArithmeticOperator.DIVIDE if right.is_constant and right.value:
            text = f"({one} / {other})"
        case ArithmeticOperator.DIVIDE:
            text = f"{generator.function(numbers.divide_double)}({one}, {other})"
        case ArithmeticOperator.MODULUS:
            text = f"{generator.function(numbers.remainder_double)}({one}, {other})"
        case _:
            text = f"({one} {operator.value} {other})"
    return Code(text, None)


def _as_double(code: Code) -> str:
    return f"float({code.text})" if code.base is BaseType.DECIMAL else code.text


def _decimal(generator: Generator, operator: ArithmeticOperator, left: Code, right: Code, kind: SqlDecimal) -> Code:
    match operator:
        case ArithmeticOperator.ADD:
            function, raises = generator.function(decimals.add, "add"), False
        case ArithmeticOperator.SUBTRACT:
            function, raises = generator.function(decimals.subtract, "subtract"), False
        case ArithmeticOperator.MULTIPLY:
            function, raises = generator.function(decimals.multiply, "multiply"), False
        case ArithmeticOperator.DIVIDE:
            function, raises = generator.function(decimals.divider(kind), "divide"), True
        case ArithmeticOperator.MODULUS:
            function, raises = generator.function(decimals.remainder(kind), "remainder"), True
    return Code(f"{function}({left.text}, {right.text})", kind, raises=raises)


def _concatenation(generator: Generator, expression: Arithmetic, kind: SqlType | None) -> Code:
    """Text + text: NULL is written, as Java does."""
    codes = [generator.value(operand) for operand in (expression.left, expression.right)]
    texts = []
    for code in codes:
        first, again = generator.twice(code)
        texts.append(f'("null" if {first} is None else {again})' if code.nullable else code.text)
    raises = any(code.raises for code in codes)
    return generator.folded(Code(f"({texts[0]} + {texts[1]})", kind, nullable=False, raises=raises), *codes)
