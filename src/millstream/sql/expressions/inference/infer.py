"""The types of expressions."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.errors import SqlError, StatementError
from millstream.sql.expressions.conversions import decimals
from millstream.sql.expressions.inference.calls import aggregate_call, resolve_call, table_call
from millstream.sql.expressions.inference.coercion import common_type
from millstream.sql.expressions.inference.scope import Scope
from millstream.sql.schema.decimals import as_decimal_type
from millstream.sql.schema.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    BaseType,
    Field,
    SqlArray,
    SqlMap,
    SqlStruct,
    SqlType,
)
from millstream.sql.tree.expressions import (
    Arithmetic,
    ArithmeticOperator,
    AtTimeZone,
    Between,
    BooleanLiteral,
    BytesLiteral,
    Cast,
    ColumnReference,
    Comparison,
    ComparisonOperator,
    CreateArray,
    CreateMap,
    CreateStruct,
    DateLiteral,
    DecimalLiteral,
    Dereference,
    DoubleLiteral,
    Expression,
    FunctionCall,
    InList,
    IntegerLiteral,
    IntervalUnit,
    IsNotNull,
    IsNull,
    LambdaFunction,
    LambdaVariable,
    Like,
    Logical,
    LongLiteral,
    Not,
    NullLiteral,
    SearchedCase,
    Sign,
    SimpleCase,
    StringLiteral,
    Subscript,
    TimeLiteral,
    TimestampLiteral,
    When,
)
from millstream.sql.tree.format import format_expression

_ISSUE = "(see https://github.com/confluentinc/ksql/issues/4239)"

#: What is said of expressions that Python cannot go down to the bottom of.
NESTED_TOO_DEEPLY = "The expression is nested too deeply"

_EQUALITIES = {
    ComparisonOperator.EQUAL,
    ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.IS_DISTINCT_FROM,
    ComparisonOperator.IS_NOT_DISTINCT_FROM,
}
_DATES = {BaseType.DATE, BaseType.TIMESTAMP, BaseType.STRING}


def infer(expression: Expression, scope: Scope) -> SqlType | None:
    """The type of an expression; None for NULL, and for what has no type of its own.

    Only what decides the type is looked at: what is wrong in the operand of NOT, say, is told when the expression is
    compiled.

    Raises:
        SqlError: the expression has no type; also for names and functions that are not there.
    """
    try:
        return _infer(expression, scope)
    except RecursionError:
        raise SqlError(NESTED_TOO_DEEPLY) from None


def _infer(expression: Expression, scope: Scope) -> SqlType | None:
    match expression:
        case ColumnReference(name=name, source=source):
            return _column(name, source, scope)
        case NullLiteral() | IntervalUnit():
            return None
        case BooleanLiteral() | Not() | Between() | InList() | Like() | IsNull() | IsNotNull():
            return BOOLEAN
        case IntegerLiteral():
            return INTEGER
        case LongLiteral():
            return BIGINT
        case DecimalLiteral(value=value):
            return decimals.type_of_value(value)
        case DoubleLiteral():
            return DOUBLE
        case StringLiteral():
            return STRING
        case BytesLiteral():
            return BYTES
        case DateLiteral():
            return DATE
        case TimeLiteral():
            return TIME
        case TimestampLiteral():
            return TIMESTAMP
        case Cast(type=target):
            return target
        case Sign(value=value):
            return infer(value, scope)
        case LambdaFunction(body=body):
            return infer(body, scope)
        case LambdaVariable(name=name):
            return scope.lambdas.get(name)
        case Logical(left=left, right=right):
            infer(left, scope)
            return infer(right, scope)
        case Arithmetic():
            return _arithmetic(expression, scope)
        case Comparison():
            return _comparison(expression, scope)
        case Dereference():
            return _dereference(expression, scope)
        case Subscript():
            return _subscript(expression, scope)
        case SearchedCase(whens=whens, default=default):
            return _case(whens, default, scope)
        case SimpleCase():
            return infer(as_searched(expression), scope)
        case FunctionCall():
            return _call(expression, scope)
        case CreateArray(values=values):
            return _array(values, scope)
        case CreateMap(entries=entries):
            return _map(entries, scope)
        case CreateStruct(fields=fields):
            return _struct(fields, scope)
        case AtTimeZone():
            raise SqlError("AT TIME ZONE is not supported")
        case _:
            raise SqlError(f"Not an expression with a type: {type(expression).__name__}")


def arithmetic_type(operator: ArithmeticOperator, left: SqlType | None, right: SqlType | None) -> SqlType:
    """The type of `left operator right`."""
    if left is None or right is None:
        names = ["null" if kind is None else str(kind) for kind in (left, right)]
        raise SqlError(f"Arithmetic on types {names[0]} and {names[1]} are not supported.")
    if operator is ArithmeticOperator.ADD and left.base is BaseType.STRING and right.base is BaseType.STRING:
        return STRING
    if left.base.is_number and right.base.is_number:
        wider = right if left.base.widens_to(right.base) else left
        if wider.base is not BaseType.DECIMAL:
            return wider
        return decimals.result_type(operator, as_decimal_type(left), as_decimal_type(right))
    raise SqlError(f"Unsupported arithmetic types. {left.base.value} {right.base.value}")


def as_searched(case: SimpleCase) -> SearchedCase:
    """`CASE a WHEN b` as `CASE WHEN a = b`."""
    whens = tuple(
        When(Comparison(ComparisonOperator.EQUAL, case.operand, when.condition), when.result, at=when.at)
        for when in case.whens
    )
    return SearchedCase(whens, case.default, at=case.at)


def _column(name: str, source: str | None, scope: Scope) -> SqlType:
    kind = scope.columns.get(name) if source is None else None
    if kind is None:
        raise SqlError(f"Unknown column {name if source is None else f'{source}.{name}'}.")
    return kind


def _arithmetic(expression: Arithmetic, scope: Scope) -> SqlType:
    left = infer(expression.left, scope)
    right = infer(expression.right, scope)
    try:
        return arithmetic_type(expression.operator, left, right)
    except SqlError as error:
        text = format_expression(expression)
        raise StatementError(f"Error processing expression: {text}. {error.primary}", statement=text) from error


def _comparison(expression: Comparison, scope: Scope) -> SqlType:
    left = infer(expression.left, scope)
    right = infer(expression.right, scope)
    operator = expression.operator
    if left is None or right is None:
        names = ["NULL" if kind is None else kind.base.value for kind in (left, right)]
        raise SqlError(
            f"Comparison with NULL not supported: {names[0]} {operator.value} {names[1]}\n"
            "Use 'IS NULL' or 'IS NOT NULL' instead."
        )
    if not comparable(left, operator, right):
        raise StatementError(
            f"Cannot compare {format_expression(expression.left)} ({left}) to "
            f"{format_expression(expression.right)} ({right}) with {operator.name}.",
            statement=format_expression(expression),
        )
    return BOOLEAN


def comparable(left: SqlType, operator: ComparisonOperator, right: SqlType) -> bool:
    """Whether values of the types can be compared so."""
    match left.base:
        case base if base.is_number:
            return right.base.is_number
        case BaseType.STRING:
            return right.base is BaseType.STRING or right.base.is_time
        case BaseType.DATE | BaseType.TIMESTAMP:
            return right.base in _DATES
        case BaseType.TIME:
            return right.base in (BaseType.TIME, BaseType.STRING)
        case BaseType.BYTES:
            return right.base is BaseType.BYTES
        case base:
            return right.base is base and operator in _EQUALITIES


def _dereference(expression: Dereference, scope: Scope) -> SqlType:
    base = infer(expression.base, scope)
    if not isinstance(base, SqlStruct):
        raise SqlError(f"Expected STRUCT type, got: {base}")
    index = base.index(expression.field)
    if index is None:
        raise SqlError(f"Could not find field '{expression.field}' in '{format_expression(expression.base)}'.")
    return base.fields[index].type


def _subscript(expression: Subscript, scope: Scope) -> SqlType:
    base = infer(expression.base, scope)
    if isinstance(base, SqlMap):
        return base.value
    if isinstance(base, SqlArray):
        return base.item
    hint = ""
    if isinstance(base, SqlStruct):
        dereference = Dereference(expression.base, format_expression(expression.index))
        hint = f" Use the dereference operator for STRUCTS: {format_expression(dereference)}"
    raise SqlError(f"Subscript expression ({format_expression(expression)}) do not apply to {base}.{hint}")


def _case(whens: Sequence[When], default: Expression | None, scope: Scope) -> SqlType:
    then = _thens(whens, scope)
    otherwise = None if default is None else infer(default, scope)
    if then is not None and otherwise is not None and then != otherwise:
        raise SqlError(
            "Invalid Case expression. Type for the default clause should be the same as for 'THEN' clauses.\n"
            f"THEN type: {then}.\nDEFAULT type: {otherwise}."
        )
    result = then or otherwise
    if result is None:
        raise SqlError("Invalid Case expression. All case branches have NULL type")
    return result


def _thens(whens: Sequence[When], scope: Scope) -> SqlType | None:
    previous: SqlType | None = None
    for when in whens:
        condition = infer(when.condition, scope)
        if condition is None or condition.base is not BaseType.BOOLEAN:
            raise SqlError(
                "WHEN operand type should be boolean.\n"
                f"Type for '{format_expression(when.condition)}' is {condition or 'null'}"
            )
        result = infer(when.result, scope)
        if result is not None and previous is not None and result != previous:
            raise SqlError(
                "Invalid Case expression. Type for all 'THEN' clauses should be the same.\n"
                f"THEN expression '{format_expression(when)}' has type: {result}.\n"
                f"Previous THEN expression(s) type: {previous}."
            )
        previous = previous or result
    return previous


def _call(call: FunctionCall, scope: Scope) -> SqlType:
    if scope.functions.is_aggregate(call.name):
        return aggregate_call(call, scope, infer).returns
    if scope.functions.is_table_function(call.name):
        return table_call(call, scope, infer).returns
    return resolve_call(call, scope, infer).returns


def _array(values: Sequence[Expression], scope: Scope) -> SqlType:
    if not values:
        raise SqlError(f"Array constructor cannot be empty. Please supply at least one element {_ISSUE}.")
    item = common_type(values, scope, infer)
    if item is None:
        raise SqlError(_all_null("an array with all NULL elements", "value"))
    return SqlArray(item)


def _map(entries: Sequence[tuple[Expression, Expression]], scope: Scope) -> SqlType:
    if not entries:
        raise SqlError(f"Map constructor cannot be empty. Please supply at least one key value pair {_ISSUE}.")
    key = common_type([key for key, _ in entries], scope, infer)
    if key is None:
        raise SqlError(_all_null("a map with all NULL keys", "key"))
    value = common_type([value for _, value in entries], scope, infer)
    if value is None:
        raise SqlError(_all_null("a map with all NULL values", "value"))
    return SqlMap(key, value)


def _all_null(what: str, part: str) -> str:
    return f"Cannot construct {what} {_ISSUE}. As a workaround, you may cast a NULL {part} to the desired type."


def _struct(fields: Sequence[tuple[str, Expression]], scope: Scope) -> SqlType:
    typed: list[Field] = []
    for name, value in fields:
        kind = infer(value, scope)
        if kind is None:
            raise SqlError(f"Cannot construct a struct whose field {name} is NULL: cast it to the desired type.")
        if any(field.name == name for field in typed):
            raise SqlError(f"Duplicate field names found in STRUCT: '{Field(name, kind)}' and '{Field(name, kind)}'")
        typed.append(Field(name, kind))
    return SqlStruct(tuple(typed))
