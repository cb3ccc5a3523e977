"""Functions of users, typed by their annotations."""

from __future__ import annotations

import datetime
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

import cloudpickle
import pytest

from millstream.sql.errors import FunctionError, SqlError
from millstream.sql.functions.model import LambdaArgument
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.functions.user import Source, add_user_functions, udaf, udf, udtf
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

T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Point:
    x: int
    label: str | None = None


@dataclass
class Line:
    start: Point
    end: Point


POINT = SqlStruct((Field("X", BIGINT), Field("LABEL", STRING)))


@udf
def net(price: float, tax: float = 0.25) -> float:
    """The price without tax."""
    return price / (1 + tax)


@udf("twice")
def twice_number(value: Annotated[int, "INTEGER"]) -> Annotated[int, "INTEGER"]:
    return value * 2


@udf("twice")
def twice_text(value: str) -> str:
    return value * 2


@udf
def everything(
    flag: bool,
    count: int,
    share: float,
    text: str,
    data: bytes,
    day: datetime.date,
    time: datetime.time,
    moment: datetime.datetime,
    items: list[int],
    entries: dict[str, float],
) -> str:
    return repr((flag, count, share, text, data, day, time, moment, items, entries))


@udf
def later(moment: datetime.datetime, day: datetime.date, time: datetime.time) -> datetime.datetime:
    return moment + datetime.timedelta(days=day.day, hours=time.hour)


@udf
def next_day(day: datetime.date) -> datetime.date:
    return day + datetime.timedelta(days=1)


@udf
def noon(time: datetime.time) -> datetime.time:
    return time.replace(hour=12)


@udf
def lengthen(line: Line, by: int) -> Line:
    return Line(line.start, Point(line.end.x + by, line.end.label))


@udf
def price(amount: Decimal) -> Annotated[Decimal, "DECIMAL(6, 2)"]:
    return amount * 2


@udf
def first(*values: T | None) -> T:
    return next(value for value in values if value is not None)


@udf
def latest_of(*days: datetime.date) -> datetime.date:
    return max(days)


@udf
def shown(label: str | None, value: int) -> str:
    return f"{label}={value}"


@udf
def kind(value: Any) -> str:
    return type(value).__name__


@udf
def on_each(items: list[T], function: Callable[[T], R]) -> list[R]:
    return [function(item) for item in items]


@udf
def fails(value: int) -> int:
    if value:
        raise ValueError("no")
    return "wrong"  # type: ignore[return-value]


@udf
def told(value: int, *, settings: Mapping[str, Any]) -> str:
    return f"{value} {sorted(settings)}"


@udf(returns=lambda arguments: SqlArray(arguments[0]))  # type: ignore[arg-type]
def boxed(value: Any) -> Any:
    return [value]


@udf
def greedy(items: list[int]) -> list[int]:
    items.append(9)
    return items


@udtf
def words(text: str, least: int = 1) -> list[str]:
    """The words of a text."""
    return [word for word in text.split() if len(word) >= least]


@udtf
def up_to(limit: int) -> Iterator[int]:
    yield from range(limit)


@udaf("product")
class Product:
    """The product of the values."""

    def __init__(self, start: int = 1) -> None:
        self.start = start

    def initialize(self) -> int:
        return self.start

    def aggregate(self, state: int, value: int) -> int:
        return state * value

    def merge(self, one: int, other: int) -> int:
        return one * other

    def undo(self, state: int, value: int) -> int:
        return state // value


@udaf("trail")
class Trail:
    limit = 10

    def configure(self, settings: Mapping[str, Any]) -> None:
        self.limit = int(settings.get("ksql.functions.trail.limit", 10))

    def initialize(self) -> list[Point]:
        return []

    def aggregate(self, state: list[Point], x: int, label: str | None) -> list[Point]:
        state.append(Point(x, label))
        return state[-self.limit :]

    def merge(self, one: list[Point], other: list[Point]) -> list[Point]:
        return one + other

    def result(self, state: list[Point]) -> Point | None:
        return state[-1] if state else None


@pytest.fixture(scope="module")
def registry() -> Registry:
    registry = default_registry()
    add_user_functions(registry, [sys.modules[__name__]])
    return registry


def scalar(registry: Registry, name: str, *types_: Any, config: Mapping[str, Any] | None = None) -> Any:
    return registry.require_scalar(name).resolve(types_, config or {})


@pytest.mark.parametrize(
    ("name", "types_", "values", "expected", "returns"),
    [
        ("net", [DOUBLE], [5.0], 4.0, DOUBLE),
        ("NET", [DOUBLE, DOUBLE], [6.0, 0.5], 4.0, DOUBLE),
        ("twice", [INTEGER], [4], 8, INTEGER),
        ("twice", [STRING], ["a"], "aa", STRING),
        ("next_day", [DATE], [0], 1, DATE),
        ("noon", [TIME], [60_000], 43_260_000, TIME),
        ("later", [TIMESTAMP, DATE, TIME], [1, 1, 3_600_000], 176_400_001, TIMESTAMP),
        ("price", [SqlDecimal(9, 3)], [Decimal("1.005")], Decimal("2.01"), SqlDecimal(6, 2)),
        ("first", [INTEGER, INTEGER], [None, 3], 3, INTEGER),
        ("latest_of", [SqlArray(DATE)], [[3, 1]], 3, DATE),
        ("latest_of", [DATE, DATE], [1, 2], 2, DATE),
        ("shown", [STRING, BIGINT], [None, 3], "None=3", STRING),
        ("shown", [STRING, BIGINT], ["a", None], None, STRING),
        ("kind", [POINT], [(1, None)], "tuple", STRING),
        ("kind", [POINT], [None], "NoneType", STRING),
        ("boxed", [STRING], ["x"], ["x"], SqlArray(STRING)),
    ],
)
def test_scalars(
    registry: Registry, name: str, types_: list[SqlType], values: list[Any], expected: Any, returns: SqlType
) -> None:
    call = scalar(registry, name, *types_)
    assert call.function(*values) == expected
    assert call.returns == returns


def test_values_come_in_their_python_form(registry: Registry) -> None:
    types_ = [BOOLEAN, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP, SqlArray(BIGINT), SqlMap(STRING, DOUBLE)]
    call = scalar(registry, "everything", *types_)
    shown_ = call.function(True, 1, 0.5, "t", b"d", 31, 3_600_001, 1, [1, None], {"a": 1.0})
    moment = datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=datetime.UTC)
    expected = (True, 1, 0.5, "t", b"d", datetime.date(1970, 2, 1), datetime.time(1, 0, 0, 1000), moment, [1, None])
    assert shown_ == repr((*expected, {"a": 1.0}))
    assert not call.pass_null


def test_a_dataclass_is_a_struct_whose_fields_may_be_in_another_order(registry: Registry) -> None:
    turned = SqlStruct((Field("LABEL", STRING), Field("X", BIGINT)))
    call = scalar(registry, "lengthen", SqlStruct((Field("END", turned), Field("START", POINT))), BIGINT)
    assert call.returns == SqlStruct((Field("START", POINT), Field("END", POINT)))
    assert call.function((("e", 5), (1, None)), 2) == ((1, None), (7, "e"))


def test_lambdas(registry: Registry) -> None:
    call = scalar(registry, "on_each", SqlArray(BIGINT), LambdaArgument(1, lambda _: STRING))
    assert call.returns == SqlArray(STRING)
    assert call.function([1, 2], str) == ["1", "2"]


def test_what_a_function_does_to_its_arguments_is_its_own(registry: Registry) -> None:
    items = [1]
    assert scalar(registry, "greedy", SqlArray(BIGINT)).function(items) == [1, 9]
    assert items == [1]


def test_settings(registry: Registry) -> None:
    config = {"ksql.functions.told.depth": 3, "ksql.functions.other.depth": 4, "ksql.functions._global_.x": 5}
    call = scalar(registry, "told", BIGINT, config=config)
    assert call.function(1) == "1 ['ksql.functions._global_.x', 'ksql.functions.told.depth']"


@pytest.mark.parametrize(("value", "message"), [(1, "ValueError: no"), (0, "'wrong' is not a BIGINT")])
def test_failures_name_the_function_and_the_line(registry: Registry, value: int, message: str) -> None:
    with pytest.raises(FunctionError, match=rf"^Function 'fails' failed: .*{message} \(test_user.py:\d+\)$"):
        scalar(registry, "fails", BIGINT).function(value)


@pytest.mark.parametrize(
    ("name", "types_", "values", "expected"),
    [
        ("words", [STRING], ["a bc"], ["a", "bc"]),
        ("words", [STRING, BIGINT], ["a bc", 2], ["bc"]),
        ("words", [STRING], [None], []),
        ("up_to", [BIGINT], [3], [0, 1, 2]),
    ],
)
def test_table_functions(
    registry: Registry, name: str, types_: list[SqlType], values: list[Any], expected: list[Any]
) -> None:
    factory = registry.table(name)
    assert factory is not None
    call = factory.resolve(types_, {})
    assert call.function(*values) == expected
    assert call.returns in (STRING, BIGINT)


def test_an_aggregate(registry: Registry) -> None:
    factory = registry.aggregate("product")
    assert factory is not None
    for types_, constants, expected in [([BIGINT], (), 6), ([INTEGER], (), 6), ([BIGINT, INTEGER], (10,), 60)]:
        call = factory.resolve(types_, constants, {})
        state = call.aggregate(call.aggregate(call.aggregate(call.initialize(), 2), None), 3)
        assert state == expected
        assert call.undo is not None
        assert call.undo(state, 3) == expected // 3
        assert call.merge(2, 5) == 10
        assert (call.state, call.returns, call.result, call.columns) == (BIGINT, BIGINT, None, 1)


def test_an_aggregate_with_a_state_of_its_own(registry: Registry) -> None:
    factory = registry.aggregate("trail")
    assert factory is not None
    call = factory.resolve([BIGINT, STRING], (), {"ksql.functions.trail.limit": "2"})
    assert (call.state, call.returns, call.undo) == (SqlArray(POINT), POINT, None)
    nothing = call.initialize()
    one = call.aggregate(nothing, 1, None)
    three = call.aggregate(call.aggregate(one, 2, "b"), 3, "c")
    assert (nothing, one, three) == ([], [(1, None)], [(2, "b"), (3, "c")])
    assert call.aggregate(three, None, "skipped") == three
    assert call.result is not None
    assert (call.result(nothing), call.result(three)) == (None, (3, "c"))


def test_functions_travel_whole(registry: Registry) -> None:
    factory = registry.aggregate("trail")
    assert factory is not None
    step = cloudpickle.dumps(factory.resolve([BIGINT, STRING], (), {}).aggregate)
    assert cloudpickle.loads(step)([], 1, "a") == [(1, "a")]


def test_they_are_described(registry: Registry) -> None:
    (description,) = [description for description in registry.describe() if description.name == "NET"]
    assert (description.kind, description.description) == ("SCALAR", "The price without tax.")
    assert [len(variant.arguments) for variant in description.variants] == [2, 1]


HEADER = """
from decimal import Decimal
from typing import Annotated

from millstream.sql.functions.user import udaf, udf, udtf

"""


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("@udf\ndef bad(x, y: int) -> int: ...", "parameter 'x' has no annotation"),
        ("@udf\ndef bad(x: set[int]) -> int: ...", r"parameter 'x': set\[int\] stands for no SQL type"),
        ("@udf\ndef bad(x: int | str) -> int: ...", "it could be several"),
        ("@udf\ndef bad(x: int): ...", "no annotation of its result"),
        ("@udf\ndef bad(x: int) -> list[Decimal]: ...", "needs its precision"),
        ("@udf\ndef bad(x: int, *, y: int) -> int: ...", "SQL has no keyword arguments: parameter 'y'"),
        ("@udf\ndef bad(x: 'Missing') -> int: ...", "its annotations cannot be read: name 'Missing' is not defined"),
        ("@udf\ndef bad(x: Annotated[str, 'INTEGER']) -> int: ...", "does not go together"),
        ("@udtf\ndef bad(x: int) -> int: ...", "gives a list of rows"),
        ("@udaf\nclass bad:\n    def initialize(self) -> int: ...", "an aggregate needs a method 'aggregate'"),
    ],
)
def test_wrong_declarations_name_the_function_and_the_line(
    declaration: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_functions.py").write_text(HEADER + declaration)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_functions", None)
    with pytest.raises(SqlError, match=rf"^Function 'bad' cannot be used: .*{message}.* \(my_functions.py:7\)"):
        add_user_functions(default_registry(), ["my_functions"])


def test_a_name_must_be_one() -> None:
    with pytest.raises(SqlError, match="'a b' is no name"):
        udf("a b")(net)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no.such.module", "cannot be loaded"),
        (types.ModuleType("empty"), "declares no functions"),
        (test_a_name_must_be_one, "is not declared"),
    ],
)
def test_sources_without_functions(source: Source, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        add_user_functions(default_registry(), [source])


def test_a_name_that_is_taken() -> None:
    registry = default_registry()
    add_user_functions(registry, [net])
    with pytest.raises(SqlError, match=r"Function 'net' cannot be used: .*already exists"):
        add_user_functions(registry, [net])
