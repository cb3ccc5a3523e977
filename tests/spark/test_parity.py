"""The same topologies in `TopologyTestDriver` and on Spark with a real Kafka give the same results.

Topologies are those of conformance cases, every operator family among them; inputs are made for this (`parity/feeds.py`).
Every topic has four partitions, keys are spread over all of them, and caching is off, so that every update is compared:
key, value, timestamp and headers, in the order of each key, per output topic. All input is there before the application
is started; it processes what is there, in one batch or several, and stops.

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
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from millstream.kafka.detached import DetachedBroker

from .parity.cases import CASES, TOPOLOGIES, Parity
from .parity.compare import Output, differences, run_driver
from .parity.feeds import PARTITIONS, Input
from .parity.host import Host, without_broker

_GUARANTEES = ("exactly_once_v2", "at_least_once")
_SHARED = Path(__file__).parents[3] / "shared" / "conformance"
_FULL_SUITE = Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR") or _SHARED) / "kstreams"


@pytest.fixture(scope="session")
def host(broker: DetachedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """One Spark session for all tests."""
    made = Host(broker.bootstrap_servers, tmp_path_factory.mktemp("parity"))
    yield made
    made.close()


def _expected(parity: Parity, topology, config, phases: list[list[Input]]) -> list[Output]:
    records = [record for phase in phases for record in phase]
    if not parity.by_partition:
        return run_driver(topology, config, records)
    parts = [[record for record in records if record.partition == number] for number in range(PARTITIONS)]
    return [output for part in parts for output in run_driver(topology, config, part)]


@pytest.mark.parametrize(
    ("parity", "guarantee"),
    [pytest.param(parity, _GUARANTEES[at % 2], id=parity.case) for at, parity in enumerate(CASES)],
)
def test_same_results(host: Host, parity: Parity, guarantee: str, tmp_path: Path) -> None:
    prefix = host.name(parity.slug)
    options = parity.options() | {"processing_guarantee": guarantee}
    if parity.disk:
        options["state_dir"] = tmp_path / "state"
    config = host.config(prefix, **options)
    topology, scope = parity.build(config, prefix)
    phases = [
        [replace(record, topic=f"{prefix}.{record.topic}") for record in phase] for phase in parity.feed.phases
    ]
    assert {record.partition for phase in phases for record in phase} == set(range(PARTITIONS))
    expected = _expected(parity, topology, replace(without_broker(config), state_dir=None), phases)
    topics = {output.topic for output in expected} | set(scope.written)
    host.create(topics | {f"{prefix}.{topic}" for topic in parity.inputs()})

    for number, phase in enumerate(phases, start=1):
        host.produce(phase)
        for _ in range(parity.runs if number == len(phases) else 1):
            host.run_once(topology, config)

    assert len(expected) > 10
    found = differences(expected, host.read(topics), scope, parity.blur)
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
