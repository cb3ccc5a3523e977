"""JSON as dicts, and as dataclasses and structs."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from millstream.errors import ArgumentError
from millstream.serdes import Serdes


@dataclass
class Order:
    region: str
    amount: int = 0
    tags: list[str] = field(default_factory=list)


class Colour(enum.Enum):
    RED = "red"


@dataclass(frozen=True)
class Point:
    x: int
    label: str | None = None
    colour: Colour = Colour.RED


class Line(msgspec.Struct, frozen=True):
    points: tuple[Point, ...]
    kind: Literal["solid", "dashed"] = "solid"
    width: Annotated[int, msgspec.Meta(gt=0)] = 1


class Path(msgspec.Struct, frozen=True):
    points: list[Point]


class Tree(msgspec.Struct, frozen=True):
    left: Tree | None = None
    right: Tree | None = None


class Open(msgspec.Struct):
    name: str


class Plain(TypedDict):
    name: str


def test_dataclass() -> None:
    serde = Serdes.json(Order)
    order = Order("eu", 120, ["new"])
    assert serde.serialize(order) == b'{"region":"eu","amount":120,"tags":["new"]}'
    assert serde.deserialize(serde.serialize(order)) == order
    assert serde.deserialize(b'{"region":"us"}') == Order("us")


def test_struct() -> None:
    serde = Serdes.json(Line)
    line = Line((Point(1), Point(2, "b")))
    assert serde.deserialize(serde.serialize(line)) == line


def test_other_types() -> None:
    assert Serdes.json(list[Point]).deserialize(b'[{"x":1}]') == [Point(1)]
    assert Serdes.json(Plain).deserialize(b'{"name":"a"}') == {"name": "a"}


def test_errors_say_where() -> None:
    data = b'{"region":"eu","amount":"lots"}'
    serde = Serdes.json(Order)
    with pytest.raises(msgspec.ValidationError) as caught:
        serde.deserialize(data)
    error = serde.deserialization_error(data, caught.value)
    assert error.primary == "the json(Order) serde cannot read these bytes"
    assert "Expected `int`, got `str` - at `$.amount`" in str(error)


def test_dicts_that_are_no_json() -> None:
    with pytest.raises(TypeError) as caught:
        Serdes.json.serialize({"a": object()})
    assert "the json serde cannot write a value of type dict" in str(Serdes.json.serialization_error({}, caught.value))


def test_a_type_that_cannot_be_read() -> None:
    unreadable: Any = dict[list[int], int] | list[int] | set[int]
    with pytest.raises(ArgumentError, match="is no type that JSON can be read into"):
        Serdes.json(unreadable)


@pytest.mark.parametrize(
    ("of", "immutable"),
    [
        (Order, False), (Point, True), (Line, True), (Path, False), (Tree, True), (Open, False), (str, True),
        (tuple[int, ...], True), (list[int], False), (int | None, True), (Any, False), (Plain, False),
    ],
)  # fmt: skip
def test_immutable_only_when_frozen_all_the_way_down(of: Any, immutable: bool) -> None:
    assert Serdes.json(of).immutable is immutable
