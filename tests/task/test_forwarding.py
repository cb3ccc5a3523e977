"""Records go depth first, children in the order they were attached; the Processor API's forward keeps its rules."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import ProcessingError, StreamsError
from millstream.processors.api import FixedKeyProcessor, Processor
from millstream.processors.user import fixed_key_operator
from millstream.records import FixedKeyRecord, Record


class Router(Processor[str, str, str, str]):
    """Sends a record to the child that its value names."""

    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record, record.value)


def test_a_childs_whole_subtree_comes_before_the_next_child(source: Any, sink: Any, harness: Any, tap: Any) -> None:
    log: list[str] = []
    topology = source()
    for name, parent in (("a", "source"), ("b", "source"), ("c", "source"), ("a1", "a"), ("a2", "a"), ("b1", "b")):
        topology.add_operator(name, lambda: tap(log), parent)
    runs = harness(sink(topology, "a1", "c"))
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()

    assert "".join(log) == "a<va1<va1>va2<va2>va>vb<vb1<vb1>vb>vc<vc>v"
    assert runs.values() == ["v", "v"]


def test_forward_to_a_named_child(source: Any, harness: Any, tap: Any) -> None:
    log: list[str] = []
    topology = source().add_processor("router", Router, "source")
    for name in ("left", "right"):
        topology.add_operator(name, lambda: tap(log), "router")
    runs = harness(topology)
    runs.add("in", ("k", "right", 0), ("k", "left", 1))
    runs.task.process_all()

    assert log == ["right<right", "right>right", "left<left", "left>left"]


def test_an_unknown_child_is_an_error_that_names_the_known_ones(source: Any, harness: Any, tap: Any) -> None:
    topology = source().add_processor("router", Router, "source").add_operator("left", lambda: tap([]), "router")
    runs = harness(topology)
    runs.add("in", ("k", "nowhere", 0))

    with pytest.raises(ProcessingError) as raised:
        runs.task.process_all()
    assert isinstance(raised.value.__cause__, StreamsError)
    assert "'router' has no child 'nowhere'" in str(raised.value.__cause__)
    assert "left" in str(raised.value.__cause__)


def test_init_cannot_forward(source: Any, harness: Any) -> None:
    class Eager(Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            context.forward(Record("k", "v", 0))

    with pytest.raises(StreamsError, match="'eager' cannot forward now"):
        harness(source().add_processor("eager", Eager, "source"))


def test_headers_are_shared_and_timestamps_are_those_of_the_forwarded_record(
    source: Any, sink: Any, harness: Any
) -> None:
    seen: list[Any] = []

    class Tag(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            record.headers.add("tag", b"1")
            self.context.forward(record.with_timestamp(record.timestamp + 5))
            seen.append(("after", self.context._task.timestamp))  # type: ignore[attr-defined]

    class Look(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            seen.append((record.timestamp, list(record.headers), self.context.record_metadata()))
            self.context.forward(record)

    topology = source().add_processor("tag", Tag, "source").add_processor("look", Look, "tag")
    runs = harness(sink(topology.add_processor("sibling", Look, "source"), "look", "sibling"))
    runs.add("in", ("k", "v", 10))
    runs.task.process_all()

    tagged = [("tag", b"1")]
    assert seen == [(15, tagged, ("in", 0, 0)), ("after", 10), (10, tagged, ("in", 0, 0))]
    assert runs.task.take_outputs() == [("out", None, b"k", b"v", 15, tagged), ("out", None, b"k", b"v", 10, tagged)]


def test_records_leave_with_the_headers_they_had_when_they_were_sent(source: Any, sink: Any, harness: Any) -> None:
    class Twice(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record)
            record.headers.add("late", b"")
            self.context.forward(record)

    runs = harness(sink(source().add_processor("twice", Twice, "source"), "twice"))
    runs.add("in", ("k", "v", 10))
    runs.task.process_all()

    assert [headers for *_, headers in runs.task.take_outputs()] == [None, [("late", b"")]]


def test_a_fixed_key_processor_forwards_values_but_no_other_keys(source: Any, sink: Any, harness: Any) -> None:
    class Values(FixedKeyProcessor[str, str, str]):
        def process(self, record: FixedKeyRecord[str, str]) -> None:
            if record.value == "cheat":
                self.context.forward(Record("other", "v", 0))  # type: ignore[arg-type]
            self.context.forward(record.with_value(record.value.upper()))

    runs = harness(sink(source().add_operator("values", fixed_key_operator(Values), "source"), "values"))
    runs.add("in", ("k", "v", 0))
    runs.task.process_all()
    assert runs.values() == ["V"]

    runs.add("in", ("k", "cheat", 0))
    with pytest.raises(ProcessingError) as raised:
        runs.task.process_all()
    assert "'values' cannot change keys" in str(raised.value.__cause__)


def test_a_processor_need_not_call_its_base_class(source: Any, sink: Any, harness: Any) -> None:
    class Own(Processor[str, str, str, str]):
        def init(self, context: Any) -> None:
            self.prefix = context.application_id

        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_value(self.prefix + record.value))

    runs = harness(sink(source().add_processor("own", Own, "source"), "own"), application_id="shop")
    runs.add("in", ("k", "-v", 0))
    runs.task.process_all()
    assert runs.values() == ["shop-v"]
