"""One row, and what expressions over it are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from millstream.sql.expressions import Scope, compile_predicate, compile_value, infer
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.parser import parse_expression
from millstream.sql.schema.columns import Schema
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
)

SCHEMA = Schema.of(
    [],
    [
        ("I", INTEGER),
        ("L", BIGINT),
        ("D", DOUBLE),
        ("P", SqlDecimal(6, 2)),
        ("S", STRING),
        ("B", BOOLEAN),
        ("RAW", BYTES),
        ("DT", DATE),
        ("TM", TIME),
        ("TS", TIMESTAMP),
        ("ARR", SqlArray(INTEGER)),
        ("M", SqlMap(STRING, BIGINT)),
        ("ST", SqlStruct((Field("A", INTEGER), Field("C", STRING)))),
        ("ROWTIME", BIGINT),
    ],
)
ROW: dict[str, Any] = {
    "I": 7,
    "L": 1_000_000_000_000,
    "D": 2.5,
    "P": Decimal("12.50"),
    "S": "bob",
    "B": True,
    "RAW": b"\x01\x80",
    "DT": 1,
    "TM": 3_600_000,
    "TS": 86_400_000,
    "ARR": [10, 20, 30],
    "M": {"a": 1, "b": None},
    "ST": (4, "x"),
    "ROWTIME": 1_577_836_800_000,
}


@dataclass
class MemoryLog:
    """Keeps what it is told."""

    messages: list[tuple[str, list[str]]] = field(default_factory=list)

    def error(self, logger: str, message: Mapping[str, Any]) -> None:
        detail = message["recordProcessingError"]
        self.messages.append((detail["errorMessage"], detail["cause"]))


@dataclass
class Evaluator:
    """Evaluates expressions over the row, with some columns changed."""

    functions: Registry
    log: MemoryLog

    def __call__(self, text: str, *, config: Mapping[str, Any] | None = None, **columns: Any) -> Any:
        evaluate = compile_value(parse_expression(text), SCHEMA, self.functions, log=self.log, config=config)
        return evaluate(tuple({**ROW, **columns}.values()))

    def test(self, text: str, **columns: Any) -> bool:
        test = compile_predicate(parse_expression(text), SCHEMA, self.functions, log=self.log)
        return test(None, tuple({**ROW, **columns}.values()))

    def type(self, text: str) -> str:
        return str(infer(parse_expression(text), Scope.of(SCHEMA, self.functions)))


@pytest.fixture(scope="session")
def functions() -> Registry:
    return default_registry()


@pytest.fixture
def schema() -> Schema:
    return SCHEMA


@pytest.fixture
def row() -> tuple[Any, ...]:
    return tuple(ROW.values())


@pytest.fixture
def evaluate(functions: Registry) -> Evaluator:
    return Evaluator(functions, MemoryLog())


@pytest.fixture
def type_of(evaluate: Evaluator) -> Callable[[str], str]:
    return evaluate.type
