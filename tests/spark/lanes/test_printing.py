"""Prints, log records and warnings of functions come out at the driver, with their task."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from millstream import Processor, StreamsBuilder

from ..conftest import Apps

# Lanes cannot import tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def _says(key: str, value: str) -> None:
    print("seen", value)
    logging.getLogger("orders").info("an order of %s", value)
    logging.getLogger("other").info("nobody asked for this")
    warnings.warn("an old order", stacklevel=1)


@pytest.mark.usefixtures("no_lane_is_left")
def test_what_functions_say_comes_out_at_the_driver(
    either: Apps,
    make_topic: Callable[..., str],
    produce: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = make_topic(partitions=2)
    produce(topic, [(b"k", b"a")], partition=1)
    builder = StreamsBuilder()
    builder.stream(topic).peek(_says).print(label="order")
    with caplog.at_level(logging.INFO, "orders"):
        either.run_once(builder.build(), either.config()).close()
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("task ")] == ["task 0_1: seen a", "task 0_1: [order]: k, a"]
    said = {record.name: record.getMessage() for record in caplog.records}
    assert said["orders"] == "task 0_1: an order of a"
    assert "task 0_1: " in said["py.warnings"]
    assert "UserWarning: an old order" in said["py.warnings"]
    assert "other" not in said


class _Closes(Processor[Any, Any, Any, Any]):
    def process(self, record: Any) -> None:
        pass

    def close(self) -> None:
        print("closed")


@pytest.mark.usefixtures("no_lane_is_left")
def test_what_processors_say_when_they_are_closed_is_not_lost(
    either: Apps, make_topic: Callable[..., str], produce: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    topic = make_topic(partitions=2)
    for partition in range(2):
        produce(topic, [(b"k", b"a")], partition=partition)
    builder = StreamsBuilder()
    builder.stream(topic).process(_Closes)
    either.run_once(builder.build(), either.config()).close()
    # Continuously, a task is closed once more if its lane gives it to one that joins later.
    assert set(capsys.readouterr().err.splitlines()) == {"task 0_0: closed", "task 0_1: closed"}
