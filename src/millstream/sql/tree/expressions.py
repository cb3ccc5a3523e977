"""Expressions. Equal expressions are equal wherever they were written."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from decimal import Decimal

from millstream.sql.errors import Location
from millstream.sql.schema.types import SqlType


@dataclass(frozen=True, kw_only=True)
class Expression:
    """Something with a value.

    Attributes:
        at: where it was written.
    """

    at: Location | None = field(default=None, compare=False, repr=False)


# Literals.


@dataclass(frozen=True)
class NullLiteral(Expression):
    """NULL."""


@dataclass(frozen=True)
class BooleanLiteral(Expression):
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True)
class IntegerLiteral(Expression):
    """A whole number that fits 32 bits."""

    value: int


@dataclass(frozen=True)
class LongLiteral(Expression):
    """A whole number that needs 64 bits."""

    value: int


@dataclass(frozen=True)
class DecimalLiteral(Expression):
    """A number with a point: its type has the precision and scale it was written with."""

    value: Decimal


@dataclass(frozen=True)
class DoubleLiteral(Expression):
    """A number with an exponent."""

    value: float


@dataclass(frozen=True)
class StringLiteral(Expression):
    """'text'."""

    value: str


@dataclass(frozen=True)
class BytesLiteral(Expression):
    """Bytes; made by coercion, they have no notation of their own."""

    value: bytes


@dataclass(frozen=True)
class DateLiteral(Expression):
    """DATE '2020-01-31', in days."""

    value: int


@dataclass(frozen=True)
class TimeLiteral(Expression):
    """TIME '10:00:00', in milliseconds."""

    value: int


@dataclass(frozen=True)
class TimestampLiteral(Expression):
    """TIMESTAMP '2020-01-31T10:00:00', in milliseconds."""

    value: int


Literal = (
    NullLiteral
    | BooleanLiteral
    | IntegerLiteral
    | LongLiteral
    | DecimalLiteral
    | DoubleLiteral
    | StringLiteral
    | BytesLiteral
    | DateLiteral
    | TimeLiteral
    | TimestampLiteral
)


class TimeUnit(enum.Enum):
    """Units of time, with their length in milliseconds."""

    DAYS = 86_400_000
    HOURS = 3_600_000
    MINUTES = 60_000
    SECONDS = 1_000
    MILLISECONDS = 1


@dataclass(frozen=True)
class IntervalUnit(Expression):
    """A unit as an argument: DATEADD(DAYS, 1, d)."""

    unit: TimeUnit


# References.


@dataclass(frozen=True)
class ColumnReference(Expression):
    """`name`, or `source.name`."""

    name: str
    source: str | None = None


@dataclass(frozen=True)
class Dereference(Expression):
    """`base -> field` of a struct."""

    base: Expression
    field: str


@dataclass(frozen=True)
class Subscript(Expression):
    """`base[index]` of an array or a map."""

    base: Expression
    index: Expression


@dataclass(frozen=True)
class LambdaVariable(Expression):
    """A parameter of the lambda around it."""

    name: str


# Operators.


class ArithmeticOperator(enum.Enum):
    """+ - * / %."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULUS = "%"


class ComparisonOperator(enum.Enum):
    """= <> < <= > >= and IS [NOT] DISTINCT FROM."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS_THAN = "<"
    LESS_THAN_OR_EQUAL = "<="
    GREATER_THAN = ">"
    GREATER_THAN_OR_EQUAL = ">="
    IS_DISTINCT_FROM = "IS DISTINCT FROM"
    IS_NOT_DISTINCT_FROM = "IS NOT DISTINCT FROM"


class LogicalOperator(enum.Enum):
    """AND and OR."""

    AND = "AND"
    OR = "OR"


@dataclass(frozen=True)
class Arithmetic(Expression):
    """`left + right`."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Sign(Expression):
    """`-value` or `+value`."""

    negative: bool
    value: Expression


@dataclass(frozen=True)
class Comparison(Expression):
    """`left = right`."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Logical(Expression):
    """`left AND right`."""

    operator: LogicalOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Not(Expression):
    """`NOT value`; also around Between, InList and Like."""

    value: Expression


@dataclass(frozen=True)
class Between(Expression):
    """`value BETWEEN low AND high`."""

    value: Expression
    low: Expression
    high: Expression


@dataclass(frozen=True)
class InList(Expression):
    """`value IN (choices)`."""

    value: Expression
    choices: tuple[Expression, ...]


@dataclass(frozen=True)
class Like(Expression):
    """`value LIKE pattern ESCAPE 'c'`."""

    value: Expression
    pattern: Expression
    escape: str | None = None


@dataclass(frozen=True)
class IsNull(Expression):
    """`value IS NULL`."""

    value: Expression


@dataclass(frozen=True)
class IsNotNull(Expression):
    """`value IS NOT NULL`."""

    value: Expression


@dataclass(frozen=True)
class When(Expression):
    """A branch of CASE."""

    condition: Expression
    result: Expression


@dataclass(frozen=True)
class SearchedCase(Expression):
    """`CASE WHEN condition THEN result ... ELSE default END`."""

    whens: tuple[When, ...]
    default: Expression | None


@dataclass(frozen=True)
class SimpleCase(Expression):
    """`CASE operand WHEN value THEN result ... ELSE default END`."""

    operand: Expression
    whens: tuple[When, ...]
    default: Expression | None


@dataclass(frozen=True)
class Cast(Expression):
    """`CAST(value AS type)`."""

    value: Expression
    type: SqlType


@dataclass(frozen=True)
class AtTimeZone(Expression):
    """`value AT TIME ZONE zone`: parsed, and refused by the analyser, as in ksqlDB."""

    value: Expression
    zone: str


# Calls and constructors.


@dataclass(frozen=True)
class FunctionCall(Expression):
    """`name(arguments)`; `a || b` is CONCAT(a, b). COUNT(*) is a call without arguments."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class LambdaFunction(Expression):
    """`(a, b) => body`: an argument of a call."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class CreateArray(Expression):
    """`ARRAY[values]`."""

    values: tuple[Expression, ...]


@dataclass(frozen=True)
class CreateMap(Expression):
    """`MAP(key := value, ...)`."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True)
class CreateStruct(Expression):
    """`STRUCT(name := value, ...)`."""

    fields: tuple[tuple[str, Expression], ...]
