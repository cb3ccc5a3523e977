"""Checkpoints that were made before are read; those of other formats are refused.

`checkpoints/format-N` was made by `checkpoints/make.py` when N was the format, and stays as it is.
"""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from pyarrow import fs

from millstream import StreamsConfig, StreamsError
from millstream.spark.driver.agreement import Known, SparkLog, check_known
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.checkpoint import Checkpoint, Remembered
from millstream.spark.state.markers import read_marker, read_note
from millstream.spark.state.statefiles import StateFiles, Version
from millstream.state.store import LogEntry
from millstream.task.records import RawRecord

from .checkpoints import make

FIXTURES = Path(__file__).with_name("checkpoints")
LAST, NEXT = Version(3, 0), Version(4, 0)
MINUTE = 60_000


#: The kinds of files in each of the fixtures.
FILES = {"format-2": [".base", ".changes", ".changes"], "format-3": [".base", ".changes", ".merged"]}


@pytest.fixture(params=sorted(FILES))
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a checkpoint that today's version must read."""
    return Path(shutil.copytree(FIXTURES / request.param, tmp_path / "checkpoint"))


def compared(location: Path) -> Remembered:
    """What is found when the application is started with it."""
    topology = make.topology()
    return Checkpoint(str(location)).compare(make.APPLICATION, topology, Plan(topology, make.TOPICS), 1, "another id")


def row(count: int, timestamp: int) -> bytes:
    return struct.pack(">qq", timestamp, count)


def window(key: str, start: int) -> bytes:
    return key.encode() + struct.pack(">qi", start, 0)


def test_the_application_goes_on_with_it(location: Path) -> None:
    found = compared(location)
    assert not found.is_new
    assert not found.moved
    assert found.id == Checkpoint(str(location)).known_id() != "another id"
    before = json.loads((location / "millstream" / "application.json").read_text())
    assert found.changelogs == before.pop("changelogs", {})  # format 2 did not know them yet
    kinds = {"count-store": "timestamped key-value", "minute-store": "timestamped window"}  # noted since then
    assert found.note | {"markers": before["markers"]} == before | {"kinds": kinds, "format": 3}
    assert found.markers.items() >= before["markers"].items()  # those that came later have other numbers


def test_it_agrees_with_what_kafka_knew(location: Path) -> None:
    inputs, progress = (
        TopicPartition(topic, partition, offset, metadata=metadata)
        for topic, partition, offset, metadata in json.loads((location / "kafka.json").read_text())
    )
    note, marker = read_note(inputs.metadata), read_marker(progress)
    assert note is not None
    assert marker is not None
    assert (inputs.offset, note.batch, note.location) == (6, 3, make.LOCATION)
    assert (marker.task, marker.batch, marker.state) == ("0_0/0", 3, LAST)
    log = SparkLog.read(str(location))
    assert sorted(log.contents) == [1, 2, 3]
    assert log.contents[3] == marker.content
    topology = make.topology()
    plan, config = Plan(topology, make.TOPICS), StreamsConfig(application_id=make.APPLICATION)
    program = Program("run", topology, plan, config, 1, str(location), None, compared(location).id)
    check_known(program, log, Known([], [note], [marker]))


def test_state_is_what_it_was(location: Path, request: pytest.FixtureRequest) -> None:
    stores: dict[str, dict[bytes, bytes | None]] = {}

    def apply(store: str, entries: list[LogEntry]) -> None:
        stores.setdefault(store, {}).update(entries)

    files = StateFiles(fs.LocalFileSystem(), str(location / "millstream" / "state" / "0_0"))
    found = [path.suffix for path in sorted(Path(files.directory).glob("0*"))]
    assert found == FILES[request.node.callspec.params["location"]]
    assert files.restore(NEXT, apply, at_least=LAST)
    assert stores == {
        "count-store": {b"a": row(3, 62_000), b"b": row(2, 64_000), b"c": row(1, 63_000)},
        "minute-store": {
            window("a", 0): row(1, 1_000),
            window("b", 0): row(1, 2_000),
            window("a", MINUTE): row(2, 62_000),
            window("b", MINUTE): row(1, 64_000),
            window("c", MINUTE): row(1, 63_000),
        },
    }


def test_a_task_goes_on_with_it(location: Path) -> None:
    topology, config = make.topology(), make.config("nowhere:9092", location.parent)
    program = Program("run", topology, Plan(topology, make.TOPICS), config, 1, str(location), None)
    task = VersionedTask(program, TaskId(0, 0), 0)
    task.begin(NEXT, 100_000, None)
    late: RawRecord = (b"a", b"x", 1_500, None, 7)  # for its minute, that is
    records: list[RawRecord] = [(b"a", b"x", 65_000, None, 6), late]
    outputs = task.process({("in", 0): records}) + task.end()
    assert sorted((topic, key, int.from_bytes(value or b"", "big")) for topic, _, key, value, *_ in outputs) == [
        ("counts", b"a", 4), ("counts", b"a", 5), ("per-minute", b"a", 3),
    ]  # fmt: skip
    task.close()


@pytest.mark.parametrize(
    ("written", "told", "hint"),
    [
        (99, "a newer Millstream", "run it with the version it was made with"),
        (1, "an older Millstream", "begin anew on purpose: millstream reset"),
        (None, "an older Millstream", "begin anew on purpose: millstream reset"),
    ],
)
def test_another_format_is_refused(location: Path, written: int | None, told: str, hint: str) -> None:
    path = location / "millstream" / "application.json"
    content = {"format": written, "what this version": "knows nothing of"}
    path.write_text(json.dumps(content))
    for ask in (Checkpoint(str(location)).known_id, lambda: compared(location)):
        with pytest.raises(StreamsError, match=f"the checkpoint has the format of {told}") as raised:
            ask()
        assert f"{location} has format {written}, this version reads format " in str(raised.value.detail)
        assert str(raised.value.hint).endswith(hint)
    assert json.loads(path.read_text()) == content
