"""Serdes survive the way to another process."""

# ruff: noqa: S301, S603 - what is read and run was written here

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
import uuid
from datetime import timedelta
from typing import Any

import pytest

from millstream.processors.foreign_key.wire import (
    Instruction,
    ResponseWrapper,
    ResponseWrapperSerde,
    SubscriptionWrapper,
    SubscriptionWrapperSerde,
)
from millstream.records import Window, Windowed
from millstream.serdes import ChangeSerde, Serde, Serdes
from millstream.serdes.deferred import DEFAULT_KEY, DEFAULT_VALUE, resolved

CONSTANTS = {name: serde for name, serde in vars(Serdes).items() if isinstance(serde, Serde)}


def dumpers() -> list[Any]:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    return [pickle.dumps, cloudpickle.dumps]


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int


def write(number: int) -> bytes:
    return b"%d" % number


class Shifted(Serde[int]):
    """A serde of a user's own, of functions that cannot be sent."""

    def __init__(self, by: int, *, name: str = "shifted") -> None:
        super().__init__(lambda number: b"%d" % (number + by), lambda data: int(data) - by, name=name)


COMPOSITE: list[tuple[Serde[Any], Any]] = [
    (Serdes.json(Order), Order("eu", 1)),
    (Serdes.json(list[Order]), [Order("eu", 1)]),
    (Serdes.list_of(Serdes.long), [1, None, 3]),
    (Serdes.list_of(Serdes.json(Order)), [Order("eu", 1), None]),
    (Serdes.time_windowed(Serdes.string, timedelta(seconds=1)), Windowed("k", Window(0, 1000))),
    (Serdes.session_windowed(Serdes.long), Windowed(7, Window(3, 5))),
    (ChangeSerde(Serdes.json), ({"a": 1}, {"a": 2}, True)),
    (ChangeSerde(Serdes.list_of(Serdes.uuid)), ([uuid.UUID(int=1)], None, True)),
    (SubscriptionWrapperSerde(Serdes.long, "t"), SubscriptionWrapper(bytes(16), Instruction(2), 7, 0)),
    (ResponseWrapperSerde(Serdes.json(Order)), ResponseWrapper(bytes(16), Order("eu", 1))),
    (Serdes.of(write, int, hashable=True, immutable=True), 7),
    (Shifted(3, name="three"), 7),
]


@pytest.mark.parametrize("name", CONSTANTS)
def test_built_in_serdes_come_back_as_themselves(name: str) -> None:
    serde = CONSTANTS[name]
    for dumps in dumpers():
        assert pickle.loads(dumps(serde)) is serde
    assert copy.deepcopy(serde) is serde


@pytest.mark.parametrize(("serde", "value"), COMPOSITE, ids=[serde.name for serde, _ in COMPOSITE])
def test_other_serdes_come_back_as_their_like(serde: Serde[Any], value: Any) -> None:
    for dumps in dumpers():
        copied = pickle.loads(dumps(pickle.loads(dumps(serde))))
        assert type(copied) is type(serde)
        assert (copied.name, copied.hashable, copied.immutable) == (serde.name, serde.hashable, serde.immutable)
        assert copied.serialize(value) == serde.serialize(value)
        assert copied.deserialize(serde.serialize(value)) == value


def test_inner_serdes_are_kept() -> None:
    serde = Serdes.list_of(Serdes.string)
    assert pickle.loads(pickle.dumps(serde)).inner is Serdes.string


@pytest.mark.parametrize(("serde", "is_key"), [(DEFAULT_KEY, True), (DEFAULT_VALUE, False)])
def test_deferred_serdes_are_resolved_where_they_arrive(serde: Serde[Any], is_key: bool) -> None:
    for dumps in dumpers():
        found = resolved(pickle.loads(dumps(serde)), is_key, Serdes.string, Serdes.long, "a test")
        assert found is (Serdes.string if is_key else Serdes.long)


_SCRIPT = """
import dataclasses, sys
import cloudpickle
from millstream import Serdes
from millstream.spark.calls.unshippable import forget_msgspec_caches

@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int
    note: str | None = None

serdes = [Serdes.json(Order), Serdes.avro(Order, registry="mock://x").for_topic("t", False)]
forget_msgspec_caches()  # as is done before a program is sent
sys.stdout.buffer.write(cloudpickle.dumps(serdes))
"""
_READER = """
import pickle, sys
json, avro = pickle.load(sys.stdin.buffer)
print([field["name"] for field in avro._own.parsed["fields"] if "default" in field])
try:
    print(json.deserialize(b'{"region": "eu"}'))
except Exception as error:
    print(error)
"""


def test_fields_of_a_scripts_dataclass_stay_required_in_another_process() -> None:
    """A class of `__main__` goes by value, and with it the mark of fields that have no default."""
    made = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, check=True)
    read = subprocess.run([sys.executable, "-c", _READER], input=made.stdout, capture_output=True, check=True)
    assert read.stdout.decode().splitlines() == ["['note']", "Object missing required field `amount`"]
