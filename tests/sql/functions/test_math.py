"""Functions of numbers, with Java's results."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.errors import FunctionError, SqlError
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.types import BIGINT, BYTES, DATE, DOUBLE, INTEGER, STRING, SqlDecimal, SqlType

Evaluate = Callable[..., Any]
NAN, INFINITY = math.nan, math.inf
D = SqlDecimal(6, 2)


def same(left: Any, right: Any) -> bool:
    """Equal, with the sign of zero, and NaN like NaN."""
    if isinstance(left, float) and isinstance(right, float):
        return (left != left and right != right) or (
            left == right and math.copysign(1, left) == math.copysign(1, right)
        )
    return type(left) is type(right) and str(left) == str(right)


@pytest.mark.parametrize(
    ("name", "type_", "value", "expected"),
    [
        ("abs", INTEGER, -(2**31), -(2**31)),
        ("abs", BIGINT, -5, 5),
        ("abs", DOUBLE, -0.0, 0.0),
        ("abs", D, Decimal("-1.50"), Decimal("1.50")),
        ("ceil", DOUBLE, -0.5, -0.0),
        ("ceil", DOUBLE, 1.2, 2.0),
        ("ceil", DOUBLE, INFINITY, INFINITY),
        ("ceil", D, Decimal("1.01"), Decimal("2.00")),
        ("ceil", INTEGER, 3, 3),
        ("floor", DOUBLE, -0.5, -1.0),
        ("floor", D, Decimal("-1.01"), Decimal("-2.00")),
        ("round", INTEGER, 3, 3),
        ("round", DOUBLE, 0.49999999999999994, 0),
        ("round", DOUBLE, 2.5, 3),
        ("round", DOUBLE, -2.5, -2),
        ("round", DOUBLE, 1e30, 2**63 - 1),
        ("round", DOUBLE, NAN, 0),
        ("round", D, Decimal("1.50"), Decimal("2")),
        ("round", D, Decimal("-1.50"), Decimal("-1")),
        ("trunc", DOUBLE, -1.9, -1),
        ("trunc", D, Decimal("-1.99"), Decimal("-1")),
        ("sign", DOUBLE, -0.1, -1),
        ("sign", BIGINT, 0, 0),
        ("sign", DOUBLE, NAN, 0),
        ("sqrt", INTEGER, 9, 3.0),
        ("sqrt", DOUBLE, -1.0, NAN),
        ("cbrt", DOUBLE, -8.0, -2.0),
        ("cbrt", INTEGER, 27, 3.0),
        ("cbrt", BIGINT, 2_097_151**3, 2_097_151.0),
        ("cbrt", DOUBLE, 0.001, 0.1),
        ("cbrt", DOUBLE, 5e-324, 1.7031839360032603e-108),
        ("cbrt", DOUBLE, -0.0, -0.0),
        ("cbrt", DOUBLE, -INFINITY, -INFINITY),
        ("cbrt", DOUBLE, NAN, NAN),
        ("exp", DOUBLE, 1e9, INFINITY),
        ("exp", INTEGER, 0, 1.0),
        ("ln", DOUBLE, 0.0, -INFINITY),
        ("ln", INTEGER, -1, NAN),
        ("log", DOUBLE, math.e, 1.0),
        ("sin", DOUBLE, INFINITY, NAN),
        ("cos", INTEGER, 0, 1.0),
        ("tan", DOUBLE, NAN, NAN),
        ("cot", DOUBLE, 0.0, INFINITY),
        ("cot", DOUBLE, -0.0, -INFINITY),
        ("asin", DOUBLE, 1.1, NAN),
        ("acos", INTEGER, 1, 0.0),
        ("atan", DOUBLE, INFINITY, math.pi / 2),
        ("sinh", DOUBLE, -1e9, -INFINITY),
        ("cosh", DOUBLE, -1e9, INFINITY),
        ("tanh", DOUBLE, 1e9, 1.0),
        ("degrees", DOUBLE, math.pi, 180.0),
        ("radians", INTEGER, 180, math.pi),
    ],
)
def test_functions_of_one_number(evaluate: Evaluate, name: str, type_: SqlType, value: Any, expected: Any) -> None:
    assert same(evaluate(name, (type_, value)), expected)
    assert evaluate(name, (type_, None)) is None


@pytest.mark.parametrize(
    ("name", "value", "places", "expected"),
    [
        ("round", 2.345, 2, 2.35),
        ("round", -2.345, 2, -2.34),
        ("round", 1234.5, -2, 1200.0),
        ("round", -0.3, 0, 0.0),
        ("round", 1e300, 5, 1e300),
        ("trunc", 2.349, 2, 2.34),
        ("trunc", -1299.0, -2, -1200.0),
    ],
)
def test_rounds_doubles_to_places(evaluate: Evaluate, name: str, value: float, places: int, expected: float) -> None:
    assert same(evaluate(name, (DOUBLE, value), (INTEGER, places)), expected)


@pytest.mark.parametrize(
    ("name", "value", "places", "expected"),
    [
        ("round", "12.35", 1, "12.40"),
        ("round", "-12.35", 1, "-12.30"),
        ("round", "15.00", -1, "20.00"),
        ("trunc", "-19.99", -1, "-10.00"),
    ],
)
def test_rounds_decimals_to_places_and_keeps_their_scale(
    evaluate: Evaluate, name: str, value: str, places: int, expected: str
) -> None:
    assert str(evaluate(name, (D, Decimal(value)), (INTEGER, places))) == expected


@pytest.mark.parametrize(
    ("name", "given", "returns"),
    [("abs", D, D), ("ceil", D, D), ("round", D, SqlDecimal(4, 0)), ("trunc", D, SqlDecimal(4, 0))],
)
def test_types_of_decimals(registry: Registry, name: str, given: SqlType, returns: SqlType) -> None:
    assert registry.require_scalar(name).resolve([given], {}).returns == returns


def test_rounding_what_has_nothing_before_the_point_is_refused(registry: Registry) -> None:
    with pytest.raises(SqlError, match="DECIMAL precision must be >= 1"):
        registry.require_scalar("round").resolve([SqlDecimal(2, 2)], {})


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (2.0, 10.0, 1024.0),
        (1.0, NAN, NAN),
        (NAN, 0.0, 1.0),
        (-1.0, INFINITY, NAN),
        (0.0, -1.0, INFINITY),
        (-0.0, -3.0, -INFINITY),
        (-0.0, -2.0, INFINITY),
        (-8.0, 1 / 3, NAN),
        (-10.0, 1001.0, -INFINITY),
        (10.0, 1001.0, INFINITY),
    ],
)
def test_power(evaluate: Evaluate, base: float, exponent: float, expected: float) -> None:
    assert same(evaluate("power", (DOUBLE, base), (DOUBLE, exponent)), expected)


@pytest.mark.parametrize(("base", "value", "expected"), [(2, 8, 3.0), (1, 8, NAN), (0, 8, NAN), (10, 0, -INFINITY)])
def test_logarithms_to_a_base(evaluate: Evaluate, base: int, value: int, expected: float) -> None:
    result = evaluate("log", (INTEGER, base), (INTEGER, value))
    assert same(result, expected) or math.isclose(result, expected)


def test_constants_and_chance(evaluate: Evaluate) -> None:
    assert evaluate("pi") == math.pi
    assert all(0 <= evaluate("random") < 1 for _ in range(100))


def test_greatest_and_least_skip_null(evaluate: Evaluate) -> None:
    numbers = [(INTEGER, value) for value in (3, None, 7, -2)]
    assert (evaluate("greatest", *numbers), evaluate("least", *numbers)) == (7, -2)
    assert evaluate("greatest", (STRING, None), (STRING, None)) is None
    assert evaluate("greatest", (STRING, "a"), (STRING, "B"), (STRING, "\U0001f600"), (STRING, "\uff00")) == "\uff00"
    assert evaluate("greatest", (BYTES, b"\x80"), (BYTES, b"\x01")) == b"\x01"
    assert evaluate("least", (DATE, 3), (DATE, None)) == 3
    assert same(evaluate("least", (DOUBLE, 0.0), (DOUBLE, -0.0)), -0.0)
    assert same(evaluate("greatest", (DOUBLE, NAN), (DOUBLE, INFINITY)), NAN)


def test_greatest_of_decimals_has_the_widest_type(evaluate: Evaluate, registry: Registry) -> None:
    narrow = SqlDecimal(4, 3)
    assert registry.require_scalar("greatest").resolve([D, narrow, None], {}).returns == SqlDecimal(7, 3)
    assert str(evaluate("greatest", (D, Decimal("1.50")), (narrow, Decimal("1.499")))) == "1.50"
    assert str(evaluate("least", (D, Decimal("1.50")), (narrow, Decimal("1.499")))) == "1.499"


PLACES = [(DOUBLE, value) for value in (52.52, 13.40, 48.85, 2.35)]


def test_distances(evaluate: Evaluate) -> None:
    kilometres = evaluate("geo_distance", *PLACES)
    assert kilometres == pytest.approx(878, abs=2)
    assert evaluate("geo_distance", *PLACES, (STRING, " Kilometres ")) == kilometres
    assert evaluate("geo_distance", *PLACES, (STRING, None)) == kilometres
    assert evaluate("geo_distance", *PLACES, (STRING, "mi")) == pytest.approx(kilometres * 3959 / 6371)
    assert evaluate("geo_distance", (DOUBLE, None), *PLACES[1:], (STRING, "mi")) is None


@pytest.mark.parametrize(
    ("changed", "unit", "message"),
    [
        ((0, 91.0), "KM", "valid latitude"),
        ((3, -181.0), "KM", "valid longitude"),
        ((0, 1.0), "ly", "units parameter must be one of"),
    ],
)
def test_distances_that_make_no_sense(evaluate: Evaluate, changed: tuple[int, float], unit: str, message: str) -> None:
    places = list(PLACES)
    places[changed[0]] = (DOUBLE, changed[1])
    with pytest.raises(FunctionError, match=message):
        evaluate("geo_distance", *places, (STRING, unit))
