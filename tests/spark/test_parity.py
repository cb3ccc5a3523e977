"""The same topologies in `TopologyTestDriver` and on Spark with a real Kafka give the same results.

Topologies are those of conformance cases, every operator family among them; inputs are made for this
(`parity/feeds.py`). Every topic has four partitions, keys are spread over all of them, and caching is off, so that
every update is compared: key, value, timestamp and headers, in the order of each key, per output topic. All input is
there before the application is started; it processes what is there, in one batch or several, and stops. To be quick, a
few topologies run as one application; the driver has them one by one.

The driver is one task that sees all records in the order in which they are piped. On Spark there is a task for each
partition, and it takes the records of its topics by timestamp. So timestamps of inputs never go back; they grow with
every record wherever records of different keys or topics meet. What legitimately differs is left out by design:

- Stream time is that of a task. Where results depend on it (windows that close, suppress, outer joins), the input goes
  on until the time of every partition has passed the same point. Where even the value of a result depends on how the
  times of different keys meet (punctuation, buffers limited in size or time), the expected results are those of four
  drivers, each given one partition.
- A new key without a repartition may have its records written by several tasks; here they come from one.
- Global tables are brought up to date before a batch: their records come first.
- Foreign-key joins see `_FOREIGN_KEYS` in `parity/cases.py`.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import cloudpickle
import pytest

from millstream import (
    Consumed,
    Grouped,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    Materialized,
    Processor,
    Produced,
    PunctuationType,
    Record,
    Repartitioned,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.config import ProcessingMode
from millstream.errors import TopologyError
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.partitioner import partition_for
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State
from millstream.testing.conformance.operators.handles import Scope
from millstream.testing.conformance.operators.processors import processor, values_processor

from .parity.cases import CASES, TOPOLOGIES, Application, Parity, applications, build_together
from .parity.compare import Output, differences, run_driver
from .parity.feeds import KEYS, PARTITIONS, Feed, Input, partition_of
from .parity.host import Host, without_broker

# Lanes cannot import tests.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

_SHARED = Path(__file__).parents[3] / "shared" / "conformance"
_FULL_SUITE = Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR") or _SHARED) / "kstreams"


@pytest.fixture(scope="session")
def host(broker: DetachedBroker, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """What all tests share."""
    return Host(broker.bootstrap_servers, tmp_path_factory.mktemp("parity"), "micro_batch")


@pytest.fixture(params=get_args(ProcessingMode))
def either(request: pytest.FixtureRequest, broker: DetachedBroker, tmp_path: Path) -> Host:
    """Applications in each of the ways to run."""
    return Host(broker.bootstrap_servers, tmp_path, request.param)


@pytest.fixture(scope="session")
def run_application(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Application], Run]:
    """Run an application, or say what came of it before."""
    done: dict[str, Run | Exception] = {}

    def run(application: Application) -> Run:
        if application.name not in done:
            try:
                done[application.name] = _run(host, application, tmp_path_factory.mktemp("state"))
            except Exception as error:
                done[application.name] = error
        result = done[application.name]
        if isinstance(result, Exception):
            raise result
        return result

    return run


@dataclass(frozen=True)
class Run:
    """What came of an application."""

    expected: dict[str, list[Output]]
    got: list[tuple[Output, int]]
    scope: Scope


def _run(host: Host, application: Application, state_dir: Path) -> Run:
    prefix = host.name(application.name)
    members = application.members
    config = host.config(prefix, **application.options, state_dir=state_dir if members[0].disk else None)
    expected = {member.case: _expected(member, without_broker(config), prefix) for member in members}
    topology, scope = build_together(members, config, prefix)
    outputs = {output.topic for found in expected.values() for output in found} | set(scope.written)
    host.create(outputs.union(*(member.topics(prefix) for member in members)))
    phases = [member.phases(prefix) for member in members]
    for phase in zip(*phases, strict=True):
        host.produce(record for records in phase for record in records)
        streams = host.run_once(topology, config)
        assert not members[0].split or streams.metrics()["commit-total"] > 2
    return Run(expected, host.read(outputs), scope)


def _expected(parity: Parity, config: StreamsConfig, prefix: str) -> list[Output]:
    topology, _ = build_together([parity], config, prefix)
    records = [record for phase in parity.phases(prefix) for record in phase]
    assert {record.partition for record in records} == set(range(PARTITIONS))
    if not parity.by_partition:
        return run_driver(topology, config, records)
    parts = [[record for record in records if record.partition == number] for number in range(PARTITIONS)]
    return [output for part in parts for output in run_driver(topology, config, part)]


@pytest.mark.parametrize(
    ("application", "parity"),
    [
        pytest.param(application, parity, id=f"{parity.case}-{application.guarantee}")
        for application in applications()
        for parity in application.members
    ],
)
def test_same_results(run_application: Callable[[Application], Run], application: Application, parity: Parity) -> None:
    run = run_application(application)
    expected = run.expected[parity.case]
    assert len(expected) > 10
    got = [(output, partition) for output, partition in run.got if f".{parity.slug}." in output.topic]
    found = differences(expected, got, run.scope, parity.blur)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.skipif(not any(_FULL_SUITE.glob("*.json")), reason=f"no cases in {_FULL_SUITE}")
def test_topologies_are_those_of_the_conformance_set() -> None:
    suite = {case["id"]: case for file in _FULL_SUITE.glob("*.json") for case in json.loads(file.read_bytes())}
    for name, kept in TOPOLOGIES.items():
        assert kept["topology"] == suite[name]["topology"]
        assert kept["config"].items() <= suite[name]["config"].items()


def test_there_are_enough_topologies_of_every_kind() -> None:
    """The requirement: at least 40 topologies, every operator family."""
    used = [operator for parity in CASES for operator in TOPOLOGIES[parity.case]["topology"]]
    operators = {operator["op"] for operator in used}
    windows = {operator["window"]["type"] for operator in used if "window" in operator}
    assert len({parity.case for parity in CASES}) >= 40
    assert windows == {"tumbling", "hopping", "sliding", "session", "unlimited"}
    assert operators >= {
        "aggregate", "cogroup", "count", "filter", "filter_not", "flat_map", "flat_map_values", "global_table",
        "group_by", "group_by_key", "join", "left_join", "map", "map_values", "merge", "outer_join", "process",
        "process_values", "reduce", "repartition", "select_key", "split", "stream", "suppress", "table", "to",
        "to_stream", "to_table", "transform_values", "windowed_by",
    }  # fmt: skip


# --- what one task in one process cannot show


def _text() -> Consumed:
    return Consumed(Serdes.string, Serdes.string)


def _texts(records: list[tuple[Output, int]]) -> list[tuple[str, str, int]]:
    """Key, value and timestamp as texts, sorted."""
    return sorted(
        (str(key and key.decode()), str(value and value.decode()), at) for (_, key, value, at, _), _ in records
    )


def test_global_tables_are_complete_before_the_first_record(either: Host) -> None:
    """Also those whose records are younger than the stream's, and without what was never committed."""
    stream, table, out = (either.name(base) for base in ("orders", "people", "named"))
    either.create([stream, table, out])
    either.produce(Input(table, f"p{number}", f"old{number}", 500) for number in range(60))
    either.produce(Input(table, f"p{number}", None if number % 5 == 0 else f"new{number}", 900) for number in range(30))
    either.abort([Input(table, f"p{number}", "aborted", 950) for number in range(60)])
    either.produce(Input(stream, key, f"p{number}", 10 + number) for number, key in enumerate(KEYS * 5))
    builder = StreamsBuilder()
    people = builder.global_table(table, _text())
    named = builder.stream(stream, _text()).left_join(
        people, lambda key, person: person, lambda person, name: f"{person}={name}"
    )
    named.to(out, Produced(Serdes.string, Serdes.string))
    topology = builder.build()
    config = either.config(either.name("global"), processing_guarantee="exactly_once_v2")

    either.run_once(topology, config)

    def name(number: int) -> str:
        return f"old{number}" if number >= 30 else "None" if number % 5 == 0 else f"new{number}"

    first = [(key, f"p{number}={name(number)}", 10 + number) for number, key in enumerate(KEYS * 5)]
    assert _texts(either.read([out])) == sorted(first)

    either.produce([Input(table, "p1", "latest", 1000), Input(stream, "a", "p1", 2000), Input(stream, "d", "p2", 2001)])
    either.run_once(topology, config)
    assert _texts(either.read([out])) == sorted([*first, ("a", "p1=latest", 2000), ("d", "p2=new2", 2001)])


def test_a_pattern_takes_all_topics_that_match_it_also_later_ones(either: Host) -> None:
    base, out = either.name("region"), either.name("counts")
    north, south, other = f"{base}.north", f"{base}.south", f"not-{base}.north"
    either.create([north, south, other, out])
    builder = StreamsBuilder()
    counts = (
        builder.stream(re.compile(f"{re.escape(base)}\\.[a-z]+"), _text())
        .group_by_key()
        .count(materialized=Materialized("counts"))
    )
    counts.to_stream().to(out, Produced(Serdes.string, Serdes.long))
    topology = builder.build()
    config = either.config(either.name("pattern"))
    feed = Feed().rounds(2, north, south)
    either.produce([*feed.inputs, Input(other, "a", "no", 1)])

    either.run_once(topology, config)

    def found() -> list[tuple[str, int, int]]:
        return [
            (str(key and key.decode()), int.from_bytes(value or b"", "big"), at)
            for (_, key, value, at, _), _ in either.read([out])
        ]

    counted = {key: [count for name, count, _ in found() if name == key] for key in KEYS}
    assert counted == {key: [1, 2, 3, 4] for key in KEYS}
    assert sorted(at for _, _, at in found()) == [record.timestamp for record in feed.inputs]

    either.create([f"{base}.east"])
    either.produce(Input(f"{base}.east", key, "x", 1000) for key in KEYS)
    either.run_once(topology, config)
    assert sorted(found())[4::5] == [(key, 5, 1000) for key in sorted(KEYS)]


def test_joined_topics_of_different_partition_counts_are_refused(either: Host) -> None:
    left, right = either.name("left"), either.name("right")
    either.create([left])
    either.create([right], partitions=3)
    builder = StreamsBuilder()
    builder.stream(left, _text()).join(builder.table(right, _text()), lambda a, b: a).to(left)
    streams = KafkaStreams(builder.build(), either.config(either.name("mismatch")), spark=either.session)
    with pytest.raises(TopologyError, match=rf"not co-partitioned: {left} \(4\), {right} \(3\)"):
        streams.start()
    assert streams.state is State.ERROR


def test_repartitioning_makes_topics_of_different_partition_counts_fit(host: Host) -> None:
    """Three partitions are repartitioned into two; a windowed result goes to a topic of three by the key inside it.

    In batches, which bring records of several writers together by their times: no window is closed too early.
    """
    source, out, windowed = host.name("source"), host.name("out"), host.name("windowed")
    host.create([source, windowed], partitions=3)
    host.create([out], partitions=5)
    builder = StreamsBuilder()
    again = builder.stream(source, _text()).repartition(
        Repartitioned(Serdes.string, Serdes.string, name="again", partitions=2)
    )
    again.to(out, Produced(Serdes.string, Serdes.string))
    counts = again.group_by_key().windowed_by(TimeWindows.of_size(timedelta(milliseconds=10))).count()
    counts.to_stream().to(
        windowed, Produced(Serdes.time_windowed(Serdes.string, timedelta(milliseconds=10)), Serdes.long)
    )
    feed = Feed().rounds(5, source)
    host.produce(feed.inputs)

    streams = host.run_once(builder.build(), host.config(host.name("fits"), processing_guarantee="exactly_once_v2"))

    assert set(streams.tasks()) == {"0_0", "0_1", "0_2", "1_0", "1_1"}
    records = host.read([out])
    assert all(partition == partition_for(record.key or b"", 5) for record, partition in records)
    for key in KEYS:
        wanted = [(record.value, record.timestamp) for record in feed.inputs if record.key == key]
        assert [
            (value and value.decode(), at) for (_, name, value, at, _), _ in records if name == key.encode()
        ] == wanted
    results = host.read([windowed])
    assert len(results) == len(feed.inputs)
    assert all(partition == partition_for((record.key or b"")[:-8], 3) for record, partition in results)


def test_partitioners_choose_partitions(either: Host) -> None:
    """Of sinks: one, several, none at all, or Kafka's own; and of repartition topics."""
    source, out = either.name("source"), either.name("out")
    either.create([source, out])

    def choose(topic: str, key: str, value: str, partitions: int) -> int | list[int] | None:
        assert (topic, partitions) == (out, PARTITIONS)
        chosen: dict[str, int | list[int]] = {"one": 2, "two": [1, 3], "none": []}
        return chosen.get(value)

    builder = StreamsBuilder()
    stream = builder.stream(source, _text())
    stream.to(out, Produced(Serdes.string, Serdes.string, partitioner=choose))
    by_length = Repartitioned(
        Serdes.string, Serdes.string, partitions=3, partitioner=lambda topic, key, value, count: len(value) % count
    )
    where = either.name("where")
    either.create([where])
    stream.repartition(by_length).process_values(values_processor({"fn": "meta"})).to(where)
    either.produce(Input(source, key, value, 1) for key in KEYS for value in ("one", "two", "none", "kafka"))

    either.run_once(builder.build(), either.config(either.name("partitioners")))

    places: dict[str, set[int]] = {}
    for record, partition in either.read([out]):
        if record.value == b"kafka":
            assert partition == partition_for(record.key or b"", PARTITIONS)
        else:
            places.setdefault((record.value or b"").decode(), set()).add(partition)
    assert places == {"one": {2}, "two": {1, 3}}
    assert len(either.read([out])) == 4 * len(KEYS)
    found = _texts(either.read([where]))
    assert {value.split(":")[0].split("#")[0] + value.split(":")[1] for _, value, _ in found} == {
        "one0", "two0", "none1", "kafka2"
    }  # fmt: skip


class _Beat(Processor[str, str, str, str]):
    """Tells the time."""

    def init(self, context: Any) -> None:
        super().init(context)
        self._beats = 0
        context.schedule(timedelta(milliseconds=150), PunctuationType.WALL_CLOCK_TIME, self._beat)

    def _beat(self, now: int) -> None:
        self._beats += 1
        self.context.forward(Record(str(self.context.task_id), str(self._beats), now))

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record)


def test_wall_clock_punctuation_needs_no_input(either: Host) -> None:
    """Neither at first nor after a restart."""
    source, out = either.name("source"), either.name("beats")
    either.create([source, out])
    builder = StreamsBuilder()
    builder.stream(source, _text()).process(_Beat).to(out)
    topology = builder.build()
    config = either.config(either.name("beat"), processing_guarantee="exactly_once_v2")
    tasks = {f"0_{partition}" for partition in range(PARTITIONS)}

    def beats(least: int) -> list[tuple[str, str, int]]:
        """All beats, once every task has so many more than before."""
        deadline = time.monotonic() + 60
        while True:
            found = _texts(either.read([out]))
            if all(sum(task == name for name, _, _ in found) >= least for task in tasks):
                return found
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    with either.running(topology, config):
        first = beats(3)
    for task in tasks:
        times = sorted(at for name, _, at in first if name == task)
        # Once in each interval: the one after one that was late comes in time.
        assert all(later - earlier > 150 for earlier, later in zip(times, times[2:], strict=False))
    before = len(_texts(either.read([out])))
    with either.running(topology, config):
        assert len(beats(before // PARTITIONS + 2)) > before


def test_wall_clock_punctuation_of_a_conformance_topology(either: Host) -> None:
    """`processor/counter-wall_clock`: every key's count is told, with the batch's time, whenever it is due."""
    source, out = either.name("source"), either.name("out")
    either.create([source, out])
    counter = {"fn": "counter", "store": "cnt", "punctuate": "wall_clock", "interval_ms": 100}
    builder = StreamsBuilder()
    builder.stream(source, _text()).process(processor(counter)).to(out, Produced(Serdes.string, Serdes.string))
    either.produce(Feed().rounds(3, source).inputs)

    with either.running(builder.build(), either.config(either.name("counter"))):
        deadline = time.monotonic() + 60
        while True:
            found = _texts(either.read([out]))
            if {key for key, _, _ in found} == set(KEYS) and len(found) >= 3 * len(KEYS):
                break
            assert time.monotonic() < deadline, found
            time.sleep(0.1)

    for _, value, at in found:
        assert value == f"w3@{at}"


def test_dead_letters_come_with_the_outputs(either: Host) -> None:
    """Records that cannot be read or processed: where they lay is told, the rest goes on, also below a repartition."""
    source, out, dead = either.name("source"), either.name("out"), either.name("dead")
    either.create([source, out, dead])
    builder = StreamsBuilder()

    def positive(value: int) -> int:
        if value < 0:
            raise ValueError("below zero")
        return value

    numbers = builder.stream(source, Consumed(Serdes.string, Serdes.json))
    grouped = (
        numbers.select_key(lambda key, value: str(value % 3))
        .map_values(positive)
        .group_by_key(Grouped(Serdes.string, Serdes.json))
    )
    grouped.count().to_stream().to(out, Produced(Serdes.string, Serdes.long))
    config = either.config(
        either.name("letters"),
        processing_guarantee="exactly_once_v2",
        deserialization_exception_handler=LogAndContinueExceptionHandler(),
        processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
        dead_letter_queue_topic=dead,
    )
    either.produce(Input(source, key, str(number), number) for number, key in enumerate(KEYS))
    either.produce([Input(source, "a", "{", 100), Input(source, "d", "-5", 101), Input(source, "e", "6", 102)])

    streams = either.run_once(builder.build(), config)

    counts = sorted((record.key or b"", int.from_bytes(record.value or b"", "big")) for record, _ in either.read([out]))
    assert counts == [(key, count) for key, most in ((b"0", 5), (b"1", 4), (b"2", 4)) for count in range(1, most + 1)]
    letters = {record.key: record for record, _ in either.read([dead])}
    assert {key: record.value for key, record in letters.items()} == {b"a": b"{", b"d": b"-5"}
    for key, record in letters.items():
        told = {name.rsplit(".", 1)[-1]: text for name, text in record.headers}
        assert told["topic"] == source.encode()
        assert int(told["partition"] or b"-1") == partition_for(key or b"", PARTITIONS)
        assert int(told["offset"] or b"-1") == sum(
            partition_of(other) == partition_for(key or b"", PARTITIONS) for other in KEYS
        )
    assert streams.metrics()["dropped-records-total"] == 2


def test_an_upgraded_application_goes_on_with_its_state(either: Host) -> None:
    """Named stores stay where they are when a filter, a second aggregation and another source are added."""
    source, more, out, second = (either.name(base) for base in ("source", "more", "out", "second"))
    either.create([source, more, out, second])
    config = either.config(either.name("upgrade"), processing_guarantee="exactly_once_v2")

    def build(upgraded: bool) -> Topology:
        builder = StreamsBuilder()
        stream = builder.stream(source, _text())
        words = stream.group_by(lambda key, value: value, Grouped(Serdes.string, Serdes.string, name="by-value"))
        counts = words.count(materialized=Materialized("counts")).to_stream()
        counts.to(out, Produced(Serdes.string, Serdes.long))
        if upgraded:
            counts.filter(lambda key, count: count % 2 == 0, name="even").to(
                second, Produced(Serdes.string, Serdes.long)
            )
            added = builder.stream(more, _text()).group_by_key(Grouped(Serdes.string, Serdes.string))
            added.count(materialized=Materialized("added")).to_stream().to(second, Produced(Serdes.string, Serdes.long))
        return builder.build()

    def counts(topic: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for record, _ in either.read([topic]):
            found.setdefault((record.key or b"").decode(), []).append(int.from_bytes(record.value or b"", "big"))
        return found

    either.produce(Input(source, key, "xyz"[number % 3], number) for number, key in enumerate(KEYS))
    either.run_once(build(False), config)
    assert counts(out) == {key: [1, 2, 3, 4] for key in "xyz"}

    either.produce(Input(source, key, "xyz"[number % 3], 100 + number) for number, key in enumerate(KEYS))
    either.produce([Input(more, "m", "1", 1), Input(more, "m", "2", 2)])
    either.run_once(build(True), config)
    assert counts(out) == {key: [1, 2, 3, 4, 5, 6, 7, 8] for key in "xyz"}
    assert counts(second) == {"x": [6, 8], "y": [6, 8], "z": [6, 8], "m": [1, 2]}
