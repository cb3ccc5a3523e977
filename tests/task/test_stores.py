"""A task's stores: their order, their changes, and global ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millstream.config import StreamsConfig
from millstream.errors import ProcessingError, StateStoreError
from millstream.processors.api import Processor
from millstream.processors.operator import Operator
from millstream.records import Record
from millstream.serdes import Serdes
from millstream.state.store import StateStore
from millstream.task.globals import GlobalState
from millstream.task.task import Task


class Notebook(StateStore):
    """A store that notes what its task does to it."""

    def __init__(self, name: str, log: list[str], logged: bool) -> None:
        super().__init__(name)
        self.logged = logged
        self._log = log
        self.on_flush: Any = None
        self.changes: dict[bytes, bytes | None] = {}

    def init(self, context: Any) -> None:
        self._log.append(f"open {self.name}")

    def get(self, key: bytes) -> bytes | None:
        return self.changes.get(key)

    def put(self, key: bytes, value: bytes) -> None:
        self.changes[key] = value

    def flush(self) -> None:
        self._log.append(f"flush {self.name}")
        if self.on_flush is not None:
            self.on_flush()

    def close(self) -> None:
        self._log.append(f"close {self.name}")

    def take_changes(self) -> dict[bytes, bytes | None]:
        taken, self.changes = self.changes, {}
        return taken

    def apply_changes(self, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
        self.changes.update(changes)

    def snapshot(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(())


@dataclass
class NotebookBuilder:
    name: str
    log: list[str]
    logging: bool = True

    def build(self) -> Notebook:
        return Notebook(self.name, self.log, self.logging)


class Quiet(Operator):
    """Forwards what it gets; has a closing word."""

    def __init__(self, log: list[str]) -> None:
        self._log = log

    def init(self, context: Any) -> None:
        super().init(context)
        self._log.append(f"init {self.name}")

    def process(self, key: Any, value: Any, timestamp: int, headers: Any) -> None:
        self.forward(key, value, timestamp, headers)

    def close(self) -> None:
        self._log.append(f"close {self.name}")


def test_stores_are_opened_and_flushed_in_order_of_first_use(source: Any, harness: Any) -> None:
    log: list[str] = []
    topology = source().add_operator("n1", lambda: Quiet(log), "source").add_operator("n2", lambda: Quiet(log), "n1")
    topology.add_state_store(NotebookBuilder("z", log), "n2")
    topology.add_state_store(NotebookBuilder("y", log), "n1", "n2")
    runs = harness(topology)
    runs.task.commit()
    runs.task.close()

    assert log == [
        "open y", "open z", "init n1", "init n2", "flush y", "flush z",
        "close n1", "close n2", "flush y", "flush z", "close y", "close z",
    ]  # fmt: skip


def test_changes_are_taken_from_logged_stores_that_have_some(source: Any, harness: Any) -> None:
    topology = source().add_operator("n", lambda: Quiet([]), "source")
    for name, logging in (("a", True), ("b", False), ("c", True)):
        topology.add_state_store(NotebookBuilder(name, [], logging), "n")
    task = harness(topology).task
    task.stores["a"].put(b"k", b"v")
    task.stores["b"].put(b"k", b"v")

    assert task.take_changes() == {"a": {b"k": b"v"}}
    assert task.take_changes() == {}


def test_an_error_in_a_flush_names_the_node_below(source: Any, harness: Any, do: Any) -> None:
    topology = source().add_operator("table", lambda: Quiet([]), "source")
    topology.add_operator("below", lambda: do(lambda value: 1 // value), "table")
    topology.add_state_store(NotebookBuilder("s", []), "table")
    task = harness(topology).task
    task.stores["s"].on_flush = lambda: task._operators["table"].process("k", 0, 0, None)

    with pytest.raises(ProcessingError, match="node 'below'") as raised:
        task.commit()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


class KeepGlobal(Processor[str, str, None, None]):
    def init(self, context: Any) -> None:
        self._store = context.state_store("regions")

    def process(self, record: Record[str, str]) -> None:
        if record.value == "forward":
            self.context.forward(record)  # type: ignore[arg-type]
        self._store.put(record.key, record.value)


def test_global_stores_are_readable_everywhere_and_written_by_their_own_node(source: Any, sink: Any) -> None:
    class Look(Processor[str, str, str, str]):
        def init(self, context: Any) -> None:
            self.regions = context.state_store("regions")

        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record.with_value(self.regions.get(record.value)))

    strings = {"key": Serdes.string, "value": Serdes.string}
    topology = source().add_global_store(
        NotebookBuilder("regions", [], False), "gs", "regions-topic", "gp", KeepGlobal, **strings
    )
    sink(topology.add_processor("look", Look, "source"), "look")
    config = StreamsConfig()
    state = GlobalState(topology, config)
    task = Task(topology, config, global_state=state)
    state.apply("regions-topic", 0, [(b"eu", b"Europe", 0, None, 0), (b"\xff", b"x", 0, None, 1)])
    task.add_records("in", 0, [(b"k", b"eu", 0, None, 0)])
    task.process_all()

    assert [value for _, _, _, value, _, _ in task.take_outputs()] == [b"Europe"]
    assert state.context.dropped_records == 1
    assert state.topics == ["regions-topic"]

    look: Any = task._operators["look"]
    with pytest.raises(StateStoreError, match="global store 'regions' is read-only here"):
        look._processor.regions.put("eu", "x")

    with pytest.raises(ProcessingError, match="'gp' cannot forward"):
        state.apply("regions-topic", 0, [(b"eu", b"forward", 0, None, 2)])
