"""What cannot be sent to lanes is named: the function, the variable, and what to do."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from millstream import Consumed, Processor, Serdes, StreamsBuilder, StreamsConfig, StreamsError, Topology
from millstream.spark.calls.unshippable import check_shippable

# As the functions of a script are.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

GLOBAL_LOCK = threading.Lock()
CONFIG = StreamsConfig(application_id="shipped")


class Client:
    """A client of something, as libraries have them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def ask(self, value: str) -> str:
        return value


def uses_global(value: str) -> str:
    with GLOBAL_LOCK:
        return value


class Enricher:
    def __init__(self) -> None:
        self.client = Client()

    def __call__(self, value: str) -> str:
        return self.client.ask(value)


class Dedup(Processor[str, str, str, str]):
    lock = threading.Lock()

    def process(self, record: Any) -> None:
        self.context.forward(record)


def topology(change: Callable[[Any], Any]) -> Topology:
    builder = StreamsBuilder()
    change(builder.stream("in", Consumed(Serdes.string, Serdes.string))).to("out")
    return builder.build()


def refused(change: Callable[[Any], Any], config: StreamsConfig = CONFIG) -> StreamsError:
    with pytest.raises(StreamsError) as raised:
        check_shippable(topology(change), config)
    return raised.value


def test_what_can_be_sent_is_left_alone() -> None:
    check_shippable(topology(lambda stream: stream.map_values(lambda value: value.upper())), CONFIG)


def test_a_variable_of_the_function() -> None:
    database = sqlite3.connect(":memory:")
    error = refused(lambda stream: stream.map_values(lambda value: database.execute(value)))
    database.close()
    assert error.primary.startswith("<lambda> at test_unshippable.py:")
    assert error.primary.endswith("(node 'KSTREAM-MAPVALUES-0000000001') cannot be sent to Spark's processes")
    assert error.detail is not None
    assert error.detail.startswith("the variable 'database' is a sqlite3.Connection, which lives in this process only")
    assert error.hint is not None
    assert "`init` of a Processor" in error.hint


def test_an_object_that_holds_it() -> None:
    client = Client()
    error = refused(lambda stream: stream.filter(lambda key, value: client.ask(value)))
    assert (error.detail or "").startswith("the variable 'client' is a ")
    assert "Client and holds a _thread.lock, " in (error.detail or "")


def test_a_global_variable_also_of_a_function_that_is_called() -> None:
    error = refused(lambda stream: stream.map_values(lambda value: uses_global(value)))
    assert error.primary.startswith("uses_global at test_unshippable.py:")
    assert (error.detail or "").startswith("the global variable 'GLOBAL_LOCK' is a _thread.lock")


def test_a_default_value() -> None:
    def guarded(value: str, lock: Any = threading.Lock()) -> str:  # noqa: B008 - that is the mistake
        return value

    error = refused(lambda stream: stream.map_values(guarded))
    assert error.primary.startswith("guarded at ")
    assert (error.detail or "").startswith("a default value is a _thread.lock")


def test_objects_and_processors() -> None:
    error = refused(lambda stream: stream.map_values(Enricher()))
    assert "attribute '_lock' of Client is a _thread.lock" in (error.detail or "")
    error = refused(lambda stream: stream.process(Dedup))
    assert error.primary.startswith("node 'KSTREAM-PROCESSOR-")
    assert "attribute 'lock' of class Dedup is a _thread.lock" in (error.detail or "")


def test_settings() -> None:
    error = refused(lambda stream: stream, StreamsConfig(application_id="a", app_configs={"lock": threading.Lock()}))
    assert error.primary == "app_configs['lock'] of the configuration cannot be sent to Spark's processes"
    assert (error.detail or "").startswith("it is a _thread.lock")
