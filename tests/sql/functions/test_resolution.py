"""Which variant a call means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cloudpickle
import pytest

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import AggregateContext, Aggregation, Declarations, ScalarContext
from millstream.sql.functions.factories import ScalarFactory
from millstream.sql.functions.model import Argument, IntervalArgument, LambdaArgument, LambdaType
from millstream.sql.functions.registry import Registry
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
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)


def function(*signatures: str, name: str = "Foo") -> ScalarFactory:
    """A function that gives the signature of the variant it was called in, and its arguments."""
    declarations = Declarations("TEST")
    for signature in signatures:

        def body(*arguments: Any, called: str = signature) -> tuple[Any, ...]:
            return (called, *arguments)

        declarations.scalar(name, signature)(body)
    registry = Registry()
    registry.add(declarations)
    return registry.require_scalar(name)


def chosen(factory: ScalarFactory, *arguments: Argument) -> str:
    call = factory.resolve(arguments, {})
    result: str = call.function(*([0] * len(arguments)))[0]
    return result


DECIMAL = SqlDecimal(4, 2)
STRUCT = SqlStruct((Field("A", STRING),))


def test_takes_the_exact_variant() -> None:
    factory = function("(INT a) -> INT", "(BIGINT a) -> INT", "(DOUBLE a) -> INT", "(DECIMAL a) -> INT")
    assert chosen(factory, BIGINT) == "(BIGINT a) -> INT"
    assert chosen(factory, DECIMAL) == "(DECIMAL a) -> INT"


def test_widens_numbers_when_there_is_no_exact_variant() -> None:
    factory = function("(BIGINT a, STRING b) -> INT")
    call = factory.resolve([INTEGER, STRING], {})
    assert call.parameters == (BIGINT, None)


@pytest.mark.parametrize(
    ("given", "widened"), [(INTEGER, SqlDecimal(10, 0)), (BIGINT, SqlDecimal(19, 0)), (DECIMAL, None)]
)
def test_widens_whole_numbers_to_decimals_that_hold_them(given: SqlType, widened: SqlType | None) -> None:
    assert function("(DECIMAL a) -> INT").resolve([given], {}).parameters == (widened,)


def test_widens_inside_of_arrays_and_maps_but_not_of_structs() -> None:
    assert function("(ARRAY<DOUBLE> a) -> INT").resolve([SqlArray(INTEGER)], {}).parameters == (SqlArray(DOUBLE),)
    of_map = function("(MAP<STRING, BIGINT> a) -> INT").resolve([SqlMap(STRING, INTEGER)], {})
    assert of_map.parameters == (SqlMap(STRING, BIGINT),)
    with pytest.raises(SqlError, match="does not accept parameters"):
        function("(STRUCT<A BIGINT> a) -> INT").resolve([SqlStruct((Field("A", INTEGER),))], {})


@pytest.mark.parametrize("given", [STRING, BOOLEAN, BYTES, DOUBLE, SqlArray(BIGINT), STRUCT])
def test_widens_nothing_but_numbers_upwards(given: SqlType) -> None:
    with pytest.raises(SqlError, match="does not accept parameters"):
        function("(BIGINT a) -> INT").resolve([given], {})


@pytest.mark.parametrize("declared", [BYTES, DATE, TIME, TIMESTAMP])
def test_texts_are_read_as_times_and_bytes(declared: SqlType) -> None:
    assert function(f"({declared} a) -> INT").resolve([STRING], {}).parameters == (declared,)
    assert chosen(function(f"({declared} a) -> INT", "(STRING a) -> INT"), STRING) == "(STRING a) -> INT"


def test_structs_match_by_their_fields() -> None:
    factory = function("(STRUCT<A STRING> a) -> INT", "(STRUCT<A STRING, B INT> a) -> BIGINT")
    assert chosen(factory, STRUCT) == "(STRUCT<A STRING> a) -> INT"
    assert chosen(factory, SqlStruct((Field("B", INTEGER), Field("A", STRING)))).endswith("BIGINT")
    assert chosen(function("(STRUCT a) -> INT"), STRUCT)


def test_several_that_widen_alike_are_ambiguous() -> None:
    with pytest.raises(SqlError) as raised:
        function("(BIGINT a, BIGINT b) -> INT", "(DOUBLE a, DOUBLE b) -> INT").resolve([INTEGER, BIGINT], {})
    assert str(raised.value).splitlines() == [
        "Function 'Foo' cannot be resolved due to ambiguous method parameters (INTEGER, BIGINT).",
        "Use CAST() to explicitly cast your parameters to one of the supported function calls.",
        "Valid function calls are:",
        "Foo(BIGINT a, BIGINT b)",
        "Foo(DOUBLE a, DOUBLE b)",
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;",
    ]


def test_says_which_calls_are_valid() -> None:
    factory = function("(STRING text, INT... at) -> INT", "(ARRAY<T>) -> INT", "(LAMBDA (T) -> U f) -> INT")
    with pytest.raises(SqlError) as raised:
        factory.resolve([STRUCT, None, SqlMap(STRING, DECIMAL), IntervalArgument()], {})
    assert str(raised.value).splitlines() == [
        "Function 'Foo' does not accept parameters (STRUCT<A STRING>, null, MAP<STRING, DECIMAL(4, 2)>, INTERVALUNIT).",
        "Valid alternatives are:",
        "Foo(VARCHAR text, INT... at)",
        "Foo(ARRAY<T>)",
        "Foo(LAMBDA (T) => U f)",
        "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;",
    ]


def test_null_fits_everywhere() -> None:
    factory = function("(BIGINT a, STRING b) -> INT", "(BIGINT... a) -> INT")
    assert chosen(factory, BIGINT, None) == "(BIGINT a, STRING b) -> INT"
    with pytest.raises(SqlError, match=r"ambiguous method parameters \(null\)"):
        function("(INT a) -> INT", "(STRING a) -> INT").resolve([None], {})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((STRING,), "(STRING a) -> INT"),
        ((STRING, INTEGER), "(STRING a, INT... b) -> INT"),
        ((STRING, INTEGER, INTEGER, INTEGER, INTEGER), "(STRING a, INT... b) -> INT"),
        ((), "(INT... b) -> INT"),
        ((INTEGER, INTEGER, INTEGER), "(INT... b) -> INT"),
    ],
)
def test_variadic_variants(arguments: Sequence[Argument], expected: str) -> None:
    factory = function("(STRING a) -> INT", "(STRING a, INT... b) -> INT", "(INT... b) -> INT")
    assert chosen(factory, *arguments) == expected


@pytest.mark.parametrize("count", range(6))
def test_variadic_in_the_middle(count: int) -> None:
    factory = function("(BIGINT a, STRING... b, INT c, INT d) -> INT")
    assert chosen(factory, BIGINT, *[STRING] * count, INTEGER, INTEGER)
    with pytest.raises(SqlError, match="does not accept parameters"):
        factory.resolve([BIGINT, *[STRING] * count, INTEGER], {})


def test_prefers_more_parameters_and_fewer_variables() -> None:
    assert chosen(function("(T... a) -> INT", "(INT... a) -> INT"), INTEGER, INTEGER) == "(INT... a) -> INT"
    assert chosen(function("(INT... a) -> INT", "(INT b, INT... a) -> INT"), INTEGER, INTEGER).startswith("(INT b")
    assert chosen(function("(ANY... a) -> INT", "(T... a) -> INT"), INTEGER, STRING) == "(ANY... a) -> INT"
    assert chosen(function("(ANY... a) -> INT", "(T... a) -> INT"), INTEGER, INTEGER) == "(T... a) -> INT"


def test_an_array_may_stand_for_the_variadic_arguments() -> None:
    call = function("(STRING a, INT... b) -> INT").resolve([STRING, SqlArray(INTEGER)], {})
    assert call.function("x", [1, 2, 3]) == ("(STRING a, INT... b) -> INT", "x", 1, 2, 3)
    assert cloudpickle.loads(cloudpickle.dumps(call)).function("x", [1])[1:] == ("x", 1)


def test_variables_bind_to_one_type() -> None:
    factory = function("(ARRAY<T> a, T b) -> MAP<STRING, T>")
    assert factory.resolve([SqlArray(INTEGER), INTEGER], {}).returns == SqlMap(STRING, INTEGER)
    assert factory.resolve([None, DECIMAL], {}).returns == SqlMap(STRING, DECIMAL)
    with pytest.raises(SqlError, match=r"does not accept parameters \(ARRAY<INTEGER>, BIGINT\)"):
        factory.resolve([SqlArray(INTEGER), BIGINT], {})


def test_results_of_unbound_variables_are_errors() -> None:
    with pytest.raises(SqlError, match="Could not find mapping for generic type: T"):
        function("(T a, T... b) -> T").resolve([None, None], {})


def test_lambdas_get_types_from_the_arguments_before_them() -> None:
    seen: list[Sequence[SqlType]] = []

    def infer(types: Sequence[SqlType]) -> SqlType:
        seen.append(tuple(types))
        return STRING

    factory = function("(MAP<K, V> m, LAMBDA (K, V) => R f, LAMBDA (R) => S g) -> MAP<R, S>")
    call = factory.resolve([SqlMap(STRING, BIGINT), LambdaArgument(2, infer), LambdaArgument(1, infer)], {})
    assert seen == [(STRING, BIGINT), (STRING,)]
    assert call.parameters == (None, LambdaType((STRING, BIGINT), STRING), LambdaType((STRING,), STRING))
    assert call.returns == SqlMap(STRING, STRING)


def test_lambdas_must_have_the_right_number_of_parameters() -> None:
    with pytest.raises(SqlError, match=r"does not accept parameters \(ARRAY<INTEGER>, LAMBDA\)"):
        function("(ARRAY<T> a, LAMBDA (T) => U f) -> U").resolve(
            [SqlArray(INTEGER), LambdaArgument(2, lambda types: types[0])], {}
        )


def test_lambdas_must_give_what_the_variables_say() -> None:
    factory = function("(ARRAY<T> a, U b, LAMBDA (U, T) => U f) -> U")
    with pytest.raises(SqlError, match="Cannot map U to both BIGINT and STRING"):
        factory.resolve([SqlArray(INTEGER), BIGINT, LambdaArgument(2, lambda types: STRING)], {})


def test_factories_see_the_types_a_function_gets() -> None:
    contexts: list[ScalarContext] = []
    declarations = Declarations("TEST")

    @declarations.scalar_factory("f", "(DOUBLE a, T b) -> T", returns=lambda arguments: BYTES)
    def make(context: ScalarContext) -> Any:
        contexts.append(context)
        return max

    registry = Registry()
    registry.add(declarations)
    call = registry.require_scalar("F").resolve([INTEGER, None], {"x": 1})
    assert (call.function, call.returns) == (max, BYTES)
    assert contexts == [ScalarContext((DOUBLE, None), BYTES, {"x": 1})]


def aggregate_registry() -> tuple[Registry, list[AggregateContext]]:
    declarations = Declarations("AGGREGATE")
    contexts: list[AggregateContext] = []

    def declare(signature: str, returns: SqlType | None) -> None:
        @declarations.aggregate("Agg", signature)
        def make(context: AggregateContext) -> Aggregation:
            contexts.append(context)
            return Aggregation(list, max, max, returns=returns)

    declare("(INT a) -> BIGINT", None)
    declare("(STRING a, T b; INT c, STRING... d) -> ARRAY<T>", None)
    declare("(BOOLEAN a, STRING... b; INT c) -> BIGINT", None)
    declare("(DECIMAL a) -> DECIMAL", DECIMAL)
    registry = Registry()
    registry.add(declarations)
    return registry, contexts


@pytest.mark.parametrize(
    ("arguments", "constants", "returns"),
    [
        ([INTEGER], 0, BIGINT),
        ([STRING, DOUBLE, INTEGER], 1, SqlArray(DOUBLE)),
        ([STRING, DOUBLE, INTEGER, STRING, STRING], 3, SqlArray(DOUBLE)),
        ([BOOLEAN, STRING, STRING, INTEGER], 1, BIGINT),
        ([BOOLEAN, INTEGER], 1, BIGINT),
        ([SqlDecimal(5, 1)], 0, DECIMAL),
    ],
)
def test_aggregates_split_columns_from_constants(arguments: list[Argument], constants: int, returns: SqlType) -> None:
    registry, contexts = aggregate_registry()
    factory = registry.aggregate("agg")
    assert factory is not None
    assert factory.constants(arguments) == constants
    call = factory.resolve(arguments, ["c"] * constants, {})
    assert (call.columns, call.returns, call.state) == (len(arguments) - constants, returns, returns)
    assert contexts[0].arguments == tuple(arguments[: call.columns])
    assert contexts[0].constants == ("c",) * constants


def test_aggregates_widen_nothing() -> None:
    registry, _ = aggregate_registry()
    factory = registry.aggregate("agg")
    assert factory is not None
    with pytest.raises(SqlError, match=r"Function 'Agg' does not accept parameters \(BIGINT\)"):
        factory.constants([BIGINT])
