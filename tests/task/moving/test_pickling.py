"""Topologies and configurations survive the way to another process, and work there."""

# ruff: noqa: S301 - what is read was written here

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream import (
    Branched,
    Consumed,
    LogAndContinueExceptionHandler,
    Processor,
    Produced,
    Record,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
    ValueTransformer,
)
from millstream.testing import TopologyTestDriver

cloudpickle = pytest.importorskip("pyspark.cloudpickle")

RECORDS = [
    ("left", "a", "b1", 0),
    ("right", "b", "x", 1),
    ("left", "b", "b22", 3),
    ("right", "a", "y", 4),
    ("left", "a", None, 6),
    ("left", "c", "c3", 9),
    ("left", "a", "c4", 40),
    ("right", "c", None, 41),
    ("left", "b", "a5", 90),
]

Results = list[tuple[Any, ...]]


def run(topology: Topology, config: StreamsConfig) -> Results:
    results: Results = []
    unread = {"right"} if "right" not in str(topology.describe()) else set()
    with TopologyTestDriver(topology, config, wall_clock_start=0) as driver:
        for topic, key, value, timestamp in RECORDS:
            if topic not in unread:
                driver.pipe(topic, key.encode(), None if value is None else value.encode(), timestamp)
        driver.advance_wall_clock(timedelta(minutes=1))
        for topic, key_bytes, value_bytes, timestamp, _, _ in driver.take_outputs():
            results.append((topic, key_bytes, value_bytes, timestamp))
    return results


class Latest(Processor[str, str, str, str]):
    """Tells what a key had before."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def init(self, context: Any) -> None:
        super().init(context)
        self._store = context.state_store("latest")

    def process(self, record: Record[str, str]) -> None:
        before = self._store.get(record.key)
        self._store.put(record.key, record.value)
        self.context.forward(record.with_value(f"{before}{self._mark}{record.value}"))


class Lengths(ValueTransformer[str, str, str]):
    def transform(self, key: str, value: str) -> str:
        return f"{key}:{len(value or '')}"


def processor_api() -> Topology:
    mark = "->"
    text: dict[str, Any] = {"key": Serdes.string, "value": Serdes.string}
    topology = Topology()
    topology.add_source("source", pattern=re.compile("left|right"), **text)
    topology.add_processor("latest", lambda: Latest(mark), "source")
    topology.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("latest"), Serdes.string, Serdes.string), "latest"
    )
    topology.add_sink("sink", lambda key, value, context: f"out-{key}", "latest", **text)
    return topology


def stateless() -> Topology:
    builder = StreamsBuilder()
    limit = 2
    stream = builder.stream("left", Consumed(Serdes.string, Serdes.string))
    parts = (
        stream.filter(lambda key, value: value is not None)
        .split("by-length-")
        .branch(lambda key, value: len(value) > limit, Branched("long"))
        .default_branch(Branched("short"))
    )
    produced = Produced(Serdes.string, Serdes.string, partitioner=lambda topic, key, value, count: 0)
    parts["by-length-long"].flat_map_values(lambda value: list(value)).to("letters", produced)
    parts["by-length-short"].select_key(lambda key, value: value).to("short", produced)
    return builder.build()


def global_table() -> Topology:
    builder = StreamsBuilder()
    text = Consumed(Serdes.string, Serdes.string)
    table = builder.global_table("right", text)
    stream = builder.stream("left", text)
    joined = stream.left_join(table, lambda key, value: key, lambda value, other: f"{value}/{other}")
    joined.to("out", Produced(Serdes.string, Serdes.string))
    return builder.build()


def transformed() -> Topology:
    builder = StreamsBuilder()
    table = builder.table("left", Consumed(Serdes.string, Serdes.string))
    table.transform_values(Lengths).to_stream().to("out", Produced(Serdes.string, Serdes.string))
    return builder.build()


OTHERS = (processor_api, stateless, global_table, transformed)


def config() -> StreamsConfig:
    return StreamsConfig(
        application_id="app",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        deserialization_exception_handler=LogAndContinueExceptionHandler(),
        client={"producer.linger.ms": 5},
        app_configs={"limit": 3},
    )


def dumps(thing: Any, module: str = __name__) -> bytes:
    """Pickle a thing with all that a module defines, as that of an application's main script is."""
    cloudpickle.register_pickle_by_value(sys.modules[module])
    try:
        data: bytes = cloudpickle.dumps(thing)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[module])
    return data


def test_topologies_run_after_a_round_trip(application: Any) -> None:
    topology, settings = application.topology(), application.config()
    copied, copied_settings = pickle.loads(dumps((topology, settings), type(application).__module__))
    assert str(copied.describe()) == str(topology.describe())
    assert run(copied, copied_settings) == run(topology, settings)


@pytest.mark.parametrize("make", OTHERS)
def test_other_topologies_run_after_a_round_trip(make: Callable[[], Topology]) -> None:
    topology = make()
    copied = pickle.loads(dumps(topology))
    assert str(copied.describe()) == str(topology.describe())
    results = run(topology, config())
    assert results
    assert run(copied, config()) == results


def test_a_configuration_comes_back_equal() -> None:
    assert pickle.loads(pickle.dumps(config())) == config()
    assert pickle.loads(cloudpickle.dumps(config())) == config()


SCRIPT = """
import pickle, sys
run, topologies = pickle.load(open(sys.argv[1], "rb"))
pickle.dump([run(*each) for each in topologies], open(sys.argv[2], "wb"))
"""


def test_topologies_run_in_another_process(tmp_path: Path) -> None:
    topologies = [(make(), config()) for make in OTHERS]
    (tmp_path / "in").write_bytes(dumps((run, topologies)))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "in"), str(tmp_path / "out")]
    subprocess.run(command, check=True)  # noqa: S603 - our own script
    assert pickle.loads((tmp_path / "out").read_bytes()) == [run(*each) for each in topologies]
