"""Whether a value is the one that a case expects, by the rules of ksqlDB's own tests."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from millstream.sql.conformance.case import Json

_TOLERANCE = 1e-6


def matches(actual: Any, expected: Json) -> bool:
    """Compare a decoded value (dicts for records) with the JSON of a case."""
    if expected is None:
        return actual is None
    if isinstance(expected, bool):
        return actual is expected
    if isinstance(expected, dict):
        return isinstance(actual, Mapping) and _same_fields(actual, expected)
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(expected)
            and all(matches(mine, theirs) for mine, theirs in zip(actual, expected, strict=True))
        )
    if isinstance(expected, str):
        return _same_text(actual, expected)
    return _same_number(actual, expected)


def _same_fields(actual: Mapping[Any, Any], expected: dict[str, Json]) -> bool:
    if len(actual) != len(expected):
        return False
    for name, value in expected.items():
        found = actual.get(name)
        if found is None:
            found = actual.get(name.upper())
        if not matches(found, value):
            return False
    return True


def _same_text(actual: Any, expected: str) -> bool:
    if isinstance(actual, bytes):
        return base64.b64encode(actual).decode() == expected
    if isinstance(actual, Decimal):
        try:
            return _same_decimal(actual, Decimal(expected))
        except InvalidOperation:
            return False
    return isinstance(actual, str) and actual == expected


def _same_number(actual: Any, expected: int | Decimal) -> bool:
    if isinstance(actual, bool):
        return False
    if isinstance(actual, int):
        return actual == int(expected)
    if isinstance(actual, float):
        return actual == float(expected) or abs(actual - float(expected)) <= _TOLERANCE
    if isinstance(actual, Decimal):
        return _same_decimal(actual, Decimal(expected))
    return False


def _same_decimal(actual: Decimal, expected: Decimal) -> bool:
    # Numbers alone do not make decimals equal: 1.0 is not 1.00.
    return actual == expected and actual.as_tuple().exponent == expected.as_tuple().exponent
