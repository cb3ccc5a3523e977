"""Schemas of Python types: what goes in comes out, and what has no schema is refused by its place."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any

import cloudpickle
import msgspec
import pytest

from millstream import ArgumentError, Serde, Serdes
from millstream.registry import InMemoryRegistry

Make = Callable[..., Serde[Any]]
MAKERS = [Serdes.avro, Serdes.protobuf, Serdes.json_schema]
Price = Annotated[Decimal, msgspec.Meta(extra={"precision": 10, "scale": 2})]


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Line:
    sku: str
    count: int = 1


@dataclasses.dataclass(frozen=True)
class Order:
    id: uuid.UUID
    at: dt.datetime
    day: dt.date
    time: dt.time
    price: Price
    color: Color
    level: Level
    main: Line
    small: Annotated[int, msgspec.Meta(ge=-100, le=100)]
    note: str | None = None
    lines: list[Line] = dataclasses.field(default_factory=list)
    tags: dict[str, int] = dataclasses.field(default_factory=dict)
    by_name: dict[str, Line] = dataclasses.field(default_factory=dict)
    second: Line | None = None
    data: bytes = b""
    weight: float = 0.5
    open: bool = True
    due: dt.datetime | None = None
    count: int | None = None
    colors: list[Color] = dataclasses.field(default_factory=list)


class Tree(msgspec.Struct, frozen=True):
    name: str
    children: list[Tree] = []


FULL = Order(
    uuid.UUID(int=5), dt.datetime(2024, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC), dt.date(2020, 2, 29),
    dt.time(1, 2, 3, 4), Decimal("-12.34"), Color.BLUE, Level.HIGH, Line("a", 2), -7, "ä", [Line("b"), Line("c", 0)],
    {"x": 1}, {"k": Line("d")}, Line(""), b"\x00\xff", -1.25, False, dt.datetime(1960, 1, 1, tzinfo=dt.UTC), 0,
    [Color.RED, Color.BLUE],
)  # fmt: skip
EMPTY = dataclasses.replace(
    FULL, note=None, lines=[], tags={}, by_name={}, second=None, data=b"", due=None, count=None, colors=[]
)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("order", [FULL, EMPTY])
def test_dataclasses_come_back_as_they_were(make: Make, order: Order) -> None:
    serde = make(Order, registry=InMemoryRegistry()).for_topic("orders", False)
    assert serde.deserialize(serde.serialize(order)) == order


@pytest.mark.parametrize("make", MAKERS)
def test_types_may_hold_themselves(make: Make) -> None:
    serde = make(Tree, registry=InMemoryRegistry()).for_topic("trees", False)
    tree = Tree("a", [Tree("b"), Tree("c", [Tree("d")])])
    assert serde.deserialize(serde.serialize(tree)) == tree
    assert serde.immutable is False  # it has lists


@pytest.mark.parametrize("make", MAKERS)
def test_pydantic_models(make: Make) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        sku: str
        price: Decimal = pydantic.Field(max_digits=8, decimal_places=2)

    class Cart(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        customer: str
        at: dt.datetime
        color: Color = Color.RED
        note: str | None = None
        items: list[Item] = pydantic.Field(default_factory=list)

    serde = make(Cart, registry=InMemoryRegistry()).for_topic("carts", False)
    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    cart = Cart(customer="ann", at=at, items=[Item(sku="a", price=Decimal("1.50"))])
    assert serde.deserialize(serde.serialize(cart)) == cart


@pytest.mark.parametrize("make", MAKERS)
def test_serdes_travel_without_connections(make: Make) -> None:
    registry = InMemoryRegistry()
    serde = make(Order, registry=registry).for_topic("orders", False)
    data = serde.serialize(FULL)
    assert cloudpickle.loads(cloudpickle.dumps(serde)).deserialize(data) == FULL


def test_the_avro_schema_of_a_type() -> None:
    registry = InMemoryRegistry()
    Serdes.avro(Line, registry=registry, namespace="shop").for_topic("lines", True).serialize(Line("a"))
    found = registry.latest("lines-key")
    assert found is not None
    assert found.parsed == {
        "type": "record",
        "name": "Line",
        "namespace": "shop",
        "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": "long", "default": 1}],
    }


def test_the_protobuf_schema_of_a_type() -> None:
    @dataclasses.dataclass
    class Item:
        sku: Annotated[str, msgspec.Meta(extra={"number": 3})]
        color: Color
        at: dt.datetime | None = None

    registry = InMemoryRegistry()
    Serdes.protobuf(Item, registry=registry, namespace="shop").for_topic("t", False).serialize(Item("a", Color.RED))
    found = registry.latest("t-value")
    assert found is not None
    assert (
        found.text
        == """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";

message Item {
  string sku = 3;
  Color color = 4;
  optional google.protobuf.Timestamp at = 5;
}

enum Color {
  COLOR_UNSPECIFIED = 0;
  COLOR_RED = 1;
  COLOR_BLUE = 2;
}
"""
    )


def test_the_json_schema_of_a_type() -> None:
    registry = InMemoryRegistry()
    Serdes.json_schema(Line, registry=registry).for_topic("t", False).serialize(Line("a"))
    found = registry.latest("t-value")
    assert found is not None
    assert json.loads(found.text) == {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Line",
        "type": "object",
        "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "default": 1}},
        "required": ["sku"],
        "additionalProperties": False,
    }


def test_avro_fields_that_came_later_have_their_defaults() -> None:
    @dataclasses.dataclass
    class Line2:
        sku: str
        color: Color = Color.RED
        note: str | None = None

    registry = InMemoryRegistry()
    data = Serdes.avro(Line, registry=registry).for_topic("t", False).serialize(Line("a"))
    Line2.__name__ = "Line"
    newer = Serdes.avro(Line2, registry=registry).for_topic("t", False)
    assert newer.deserialize(data) == Line2("a", Color.RED, None)


@dataclasses.dataclass
class NoScale:
    price: Decimal


@dataclasses.dataclass
class Numbered:
    names: dict[int, str]


@dataclasses.dataclass
class Either:
    part: Line | Order


@dataclasses.dataclass
class MaybeMany:
    lines: list[Line] | None


@pytest.mark.parametrize(
    ("make", "of", "place"),
    [
        (Serdes.avro, NoScale, "NoScale.price"),
        (Serdes.avro, Numbered, "Numbered.names"),
        (Serdes.avro, Either, "Either"),
        (Serdes.protobuf, MaybeMany, "MaybeMany.lines"),
        (Serdes.protobuf, Either, "Either"),
        (Serdes.protobuf, str, "str"),
    ],
)
def test_what_has_no_schema_is_refused_by_its_place(make: Make, of: Any, place: str) -> None:
    with pytest.raises(ArgumentError, match=place) as failed:
        make(of)
    assert failed.value.hint


def test_bare_values_are_avro_too() -> None:
    registry = InMemoryRegistry()
    serde = Serdes.avro(str, registry=registry).for_topic("t", True)
    assert serde.serialize("eu") == b"\0\0\0\0\1\4eu"
    assert serde.deserialize(b"\0\0\0\0\1\4eu") == "eu"
