"""Continuously, applications have the results that the test driver has: all topologies of test_parity.py.

Here topics have one partition. Tasks of different parts of a topology work on their own, as in Kafka Streams: behind a
repartition topic, which record of which partition comes first is anybody's guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from millstream import StreamsConfig
from millstream.kafka.detached import DetachedBroker
from millstream.testing.conformance.operators.handles import Scope
from millstream.topology.nodes import SourceNode

from .parity.cases import Application, Parity, applications, build_together
from .parity.compare import Output, differences, run_driver
from .parity.host import Host, without_broker

#: How many topologies become one application.
_TOGETHER = 32
#: Of what depends on when records meet, tables that are the same in the end.
_TABLES = {"headers/foreign-key", "join-foreign-key/join", "join-foreign-key/left_join", "join-foreign-key/chain"}


@dataclass(frozen=True)
class Run:
    """What came of an application."""

    expected: dict[str, list[Output]]
    got: list[tuple[Output, int]]
    scope: Scope


def _meets(parity: Parity) -> bool:
    """Whether records of a repartition topic meet others, by when they come."""
    topology, _ = build_together([parity], StreamsConfig(**parity.options), "x")
    for part in topology.sub_topologies():
        nodes = (topology.nodes[name] for name in part.nodes)
        topics = {topic for node in nodes if isinstance(node, SourceNode) for topic in node.topics}
        if len(topics) > 1 and not topics.isdisjoint(topology.internal_topics):
            return True
    return False


def _groups() -> list[Application]:
    kinds: dict[tuple[str, bool, int], list[Parity]] = {}
    for application in applications():
        optimization = application.options["topology_optimization"]
        for member in application.members:
            if member.case in _TABLES or not _meets(member):
                kinds.setdefault((optimization, member.disk, len(member.feed.phases)), []).append(member)
    found = [members[at : at + _TOGETHER] for members in kinds.values() for at in range(0, len(members), _TOGETHER)]
    guarantees = ("exactly_once_v2", "at_least_once")
    return [Application(f"lanes{number}", tuple(one), guarantees[number % 2]) for number, one in enumerate(found)]


@pytest.fixture(scope="module")
def host(broker: DetachedBroker, tmp_path_factory: pytest.TempPathFactory) -> Host:
    """What all tests share."""
    return Host(broker.bootstrap_servers, tmp_path_factory.mktemp("continuous"), "continuous")


@pytest.fixture(scope="module")
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


def _run(host: Host, application: Application, state_dir: Path) -> Run:
    prefix = host.name(application.name)
    members = application.members
    options = {name: value for name, value in application.options.items() if name != "max_batch_records"}
    disk = state_dir if members[0].disk else None
    config = host.config(prefix, **options, state_dir=disk)
    expected = {}
    for member in members:
        alone, _ = build_together([member], without_broker(config), prefix)
        records = [record for phase in member.phases(prefix) for record in phase]
        expected[member.case] = run_driver(alone, without_broker(config), records)
    topology, scope = build_together(members, config, prefix)
    outputs = {output.topic for found in expected.values() for output in found} | set(scope.written)
    host.create(outputs.union(*(member.topics(prefix) for member in members)), partitions=1)
    for phase in zip(*(member.phases(prefix) for member in members), strict=True):
        host.produce((record for records in phase for record in records), partition=0)
        host.run_once(topology, config)
    return Run(expected, host.read(outputs), scope)


@pytest.mark.parametrize(
    ("application", "parity"),
    [
        pytest.param(application, parity, id=f"{parity.case}-{application.guarantee}")
        for application in _groups()
        for parity in application.members
    ],
)
def test_same_results(run_application: Callable[[Application], Run], application: Application, parity: Parity) -> None:
    run = run_application(application)
    got = [(output, partition) for output, partition in run.got if f".{parity.slug}." in output.topic]
    expected = run.expected[parity.case]
    if parity.case in _TABLES:  # without times, which are those of the record that came last
        expected = list({output.key: output._replace(timestamp=0, headers=()) for output in expected}.values())
        got = list({output.key: (output._replace(timestamp=0, headers=()), at) for output, at in got}.values())
    found = differences(expected, got, run.scope, parity.blur, partitions=1)
    assert not found, "\n".join(found)
