"""What somebody sees who looks at tasks for a while."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millstream import (
    Consumed,
    Grouped,
    KStream,
    Materialized,
    Processor,
    Serde,
    Serdes,
    StreamsBuilder,
    StreamsConfig,
)
from millstream.errors import ProcessingError
from millstream.handlers import LogAndContinueProcessingExceptionHandler
from millstream.task.records import RawRecord
from millstream.task.task import Task
from millstream.task.watching.moments import Moment, moment
from millstream.task.watching.watch import Watch
from millstream.topology.topology import Topology

RECORDS: list[RawRecord] = [(b"k%d" % (n % 4), b"v%d" % n, n, None, n) for n in range(40)]


class Twice(Processor[Any, Any, Any, Any]):
    def process(self, record: Any) -> None:
        self.context.forward(record)
        self.context.forward(record)


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, as much is traced as there is."""
    for limit in ("_MOST_SECONDS", "_AT_MOST_SECONDS"):
        monkeypatch.setattr(f"millstream.task.watching.tracing.{limit}", 60.0)


def words(function: Callable[[KStream[str, str]], KStream[Any, Any]]) -> Topology:
    builder = StreamsBuilder()
    function(builder.stream("in", Consumed(Serdes.string, Serdes.string))).to("out")
    return builder.build()


def made(topology: Topology, **config: Any) -> Task:
    config |= {"default_key_serde": Serdes.string, "default_value_serde": Serdes.string}
    return Task(topology, StreamsConfig(application_id="app", **config))


def watched(topology: Topology, times: int = 1, **config: Any) -> tuple[Task, Watch]:
    """A task that has processed the records, and who watched it."""
    task, now = made(topology, **config), [0.0]
    watch = Watch("app", lambda: now[0])
    watch.look(6000)
    for _ in range(times):
        task.add_records("in", 0, RECORDS)
        with watch.at(task):
            task.process_all()
        now[0] += 4.0
        with watch.at(task, flushes=True):
            task.commit()
        now[0] += 2.0
    return task, watch


@pytest.fixture(autouse=True)
def _nobody_looks_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who looks in a test looks no more when it is over."""
    looking: list[Watch] = []
    look = Watch.look

    def noted(watch: Watch, seconds: float) -> None:
        looking.append(watch)
        look(watch, seconds)

    monkeypatch.setattr(Watch, "look", noted)
    yield
    for watch in looking:
        look(watch, -1)
        if watch._looking is not None:
            watch._looking.join()


def relative(watch: Watch) -> dict[str, float]:
    """How many records entered each node for one of the source's."""
    nodes = watch.seen().nodes
    (source,) = (seen.rate for name, seen in nodes.items() if "SOURCE" in name)
    return {name.rstrip("0123456789").rstrip("-"): round(seen.rate / source, 2) for name, seen in nodes.items()}


GUARDED = {"processing_exception_handler": LogAndContinueProcessingExceptionHandler()}


@pytest.mark.parametrize("config", [{}, GUARDED], ids=["fused", "guarded"])
def test_records_that_enter_nodes_are_seen(config: dict[str, Any]) -> None:
    topology = words(
        lambda stream: (
            stream.filter(lambda key, value: key != "k0").flat_map_values(lambda value: [value, value]).process(Twice)
        )
    )
    task, watch = watched(topology, **config)
    assert relative(watch) == {
        "KSTREAM-SOURCE": 1.0,
        "KSTREAM-FILTER": 1.0,
        "KSTREAM-FLATMAPVALUES": 0.75,
        "KSTREAM-PROCESSOR": 1.5,
        "KSTREAM-SINK": 3.0,
    }
    last = watch.seen().nodes["KSTREAM-SINK-0000000004"].last
    assert (last[0].key, last[0].value, last[0].timestamp) == ("'k3'", "'v39'", 39)
    assert len(task.take_outputs()) == 120


def test_a_branch_and_a_node_of_several_parents() -> None:
    def both(stream: KStream[str, str]) -> KStream[Any, Any]:
        first = stream.filter(lambda key, value: key == "k0")
        return first.merge(stream.map_values(lambda value: value)).peek(lambda key, value: None)

    found = relative(watched(words(both))[1])
    assert (found["KSTREAM-FILTER"], found["KSTREAM-MAPVALUES"], found["KSTREAM-PEEK"]) == (1.0, 1.0, 1.25)


@pytest.mark.parametrize("cached", [True, False])
def test_what_caches_hold_back_is_seen_when_they_are_flushed(cached: bool) -> None:
    def count(stream: KStream[str, str]) -> KStream[Any, Any]:
        table = stream.group_by_key(Grouped(Serdes.string, Serdes.string)).count(materialized=Materialized("counts"))
        return table.to_stream().map_values(str)

    found = relative(watched(words(count), statestore_cache_max_bytes=100_000 if cached else 0)[1])
    assert found["KSTREAM-AGGREGATE"] == 1.0
    assert found["KTABLE-TOSTREAM"] == found["KSTREAM-SINK"] == (0.1 if cached else 1.0)


def test_what_caches_write_down_before_they_forward_is_not_traced() -> None:
    before, seen = sys.gettrace(), []

    def noted(value: int) -> bytes:
        seen.append(sys.gettrace())
        return value.to_bytes(8, "big")

    numbers = Serde(noted, Serdes.long.deserialize)

    def count(stream: KStream[str, str]) -> KStream[Any, Any]:
        grouped = stream.group_by_key(Grouped(Serdes.string, Serdes.string))
        return grouped.count(materialized=Materialized("counts", value=numbers)).to_stream().map_values(str)

    found = relative(watched(words(count), statestore_cache_max_bytes=100_000)[1])
    assert found["KSTREAM-SINK"] == 0.1
    assert len(seen) >= 4
    assert set(seen) == {before}


def test_many_records_are_estimated_by_some() -> None:
    found = relative(watched(words(lambda stream: stream.filter(lambda key, value: key != "k0")), times=100)[1])
    assert found["KSTREAM-SINK"] == 0.75


def test_nothing_is_left_when_nobody_looks() -> None:
    before = sys.gettrace()
    task, watch = made(words(lambda stream: stream.map_values(lambda value: 1 / 0))), Watch("app")
    watch.look(6000)
    task.add_records("in", 0, RECORDS)
    with pytest.raises(ProcessingError), watch.at(task):
        task.process_all()
    assert sys.gettrace() is before
    watch.look(0)
    assert not watch.is_on
    assert watch.at(task) is watch.at(task)


def test_which_node_a_thread_is_at() -> None:
    here = threading.get_ident()
    found: list[Moment | None] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: found.append(moment(sys._current_frames()[here])))
        thread.start()
        thread.join()

    def mapped(value: str) -> str:
        look()
        return value

    task = made(words(lambda stream: stream.map_values(mapped).process(lambda: Looking(look))))
    task.add_records("in", 0, RECORDS[:1])
    task.process_all()
    assert found == [Moment("app", "KSTREAM-MAPVALUES-0000000001"), Moment("app", "KSTREAM-PROCESSOR-0000000002")]
    look()
    assert found[-1] is None


class Looking(Processor[Any, Any, Any, Any]):
    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look

    def process(self, record: Any) -> None:
        self._look()
