"""Groups are shown, and applications begin anew."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from millstream.cli.commands.reset import chosen, duration
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.group_admin import GroupAdmin
from millstream.kafka.topics import NewTopic
from millstream.spark.state.checkpoint import Checkpoint

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _connected(broker: DetachedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def groups(broker: DetachedBroker) -> GroupAdmin:
    return GroupAdmin(StreamsConfig(application_id="tests", bootstrap_servers=broker.bootstrap_servers))


class Left:
    """What an application left behind: positions, topics, a checkpoint, files of stores."""

    def __init__(self, admin: Admin, topic: str, tmp_path: Path) -> None:
        self.id = f"shop-{uuid.uuid4().hex[:8]}"
        self.topic = topic
        admin.commit_offsets({(topic, 0): 2, (topic, 1): 1}, self.id)
        admin.commit_offsets({(topic, 0): 1}, f"{self.id}-progress-0123")
        admin.commit_offsets({(topic, 0): 1}, f"{self.id}-eu")  # another application
        self.internal = [
            f"{self.id}-{name}" for name in ("counts-changelog", "by-region-repartition", "progress", "owner")
        ]
        self.others = [f"{self.id}-eu-counts-changelog", f"{self.id}-results"]
        admin.create_topics([NewTopic(name, 1) for name in (*self.internal, *self.others)])
        admin.commit_offsets({(f"{self.id}-progress", 0): 7}, self.id)
        self.checkpoint = tmp_path / "checkpoint"
        Checkpoint(str(self.checkpoint)).write("application.json", {"application_id": self.id})
        (self.checkpoint / "spark").mkdir()
        (self.checkpoint / "mine.txt").write_text("not the application's")
        self.store = tmp_path / "stores" / self.id / "0_1"
        self.store.mkdir(parents=True)
        self.app = tmp_path / f"app_{uuid.uuid4().hex[:8]}.py"
        self.app.write_text(
            "from millstream import Consumed, Serdes, StreamsBuilder, StreamsConfig\n"
            f"config = StreamsConfig(application_id={self.id!r}, state_dir={str(tmp_path / 'stores')!r},\n"
            f"                       checkpoint_location={str(self.checkpoint)!r})\n"
            "builder = StreamsBuilder()\n"
            f"builder.stream({topic!r}, Consumed(Serdes.string, Serdes.string)).to('{self.id}-results')\n"
        )


@pytest.fixture
def left(admin: Admin, make_topic: Callable[..., str], produce: Callable[..., None], tmp_path: Path) -> Left:
    topic = make_topic(2)
    produce(topic, [("a", "1", 1_000), ("b", "2", 2_000), ("c", "3", 3_000)], partition=0)
    produce(topic, [("d", "4", 4_000)], partition=1)
    return Left(admin, topic, tmp_path)


def test_groups(run: Run, left: Left, broker: DetachedBroker) -> None:
    code, output, _ = run("groups", "list")
    assert code == 0
    # The progress topic is empty, so that its position is no lag.
    assert [line.split() for line in output.splitlines() if line.startswith(f"{left.id} ")] == [
        [left.id, "empty", "0", "1"]
    ]
    code, output, _ = run("groups", "describe", left.id)
    assert output.startswith(f"group {left.id} is empty\n")
    assert [line.split() for line in output.splitlines() if line.startswith(left.topic)] == [
        [left.topic, "0", "2", "1", "-"],
        [left.topic, "1", "1", "0", "-"],
    ]
    code, _, errors = run("groups", "describe", "no-such-group")
    assert code == 1
    assert errors.startswith("error: there is no group no-such-group\n")


def test_reset(run: Run, left: Left, groups: GroupAdmin, admin: Admin) -> None:
    code, dry, _ = run("reset", str(left.app), "--dry-run")
    assert code == 0
    assert dry.splitlines() == [
        f"reset {left.id}:",
        f"  {left.topic}, partition 0: read from offset 0 (now 2)",
        f"  {left.topic}, partition 1: read from offset 0 (now 1)",
        *(f"  delete topic {name}" for name in sorted(left.internal)),
        f"  delete group {left.id}-progress-0123",
        f"  remove checkpoint {left.checkpoint}",
        f"  remove {left.store}",
    ]
    assert groups.positions(left.id)[left.topic, 0] == 2
    assert left.store.exists()
    code, output, _ = run("reset", str(left.app), "--yes")
    assert (code, output) == (0, f"{dry}{left.id} begins anew with its next start\n")
    assert groups.positions(left.id) == {(left.topic, 0): 0, (left.topic, 1): 0}
    assert [name for name in admin.topics() if name.startswith(left.id)] == sorted(left.others)
    assert set(groups.groups()) & {f"{left.id}-progress-0123", f"{left.id}-eu"} == {f"{left.id}-eu"}
    assert [path.name for path in left.checkpoint.iterdir()] == ["mine.txt"]
    assert not left.store.exists()
    assert run("reset", str(left.app), "--yes")[0] == 0  # nothing is left to do


def test_reset_by_id_leaves_what_is_not_its_own(
    run: Run, left: Left, groups: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = left.checkpoint / "millstream" / "application.json"
    note.write_text(json.dumps({"application_id": "other"}))
    options = ("--application-id", left.id, "--checkpoint", str(left.checkpoint), "--shift-by", "-1", "--yes")
    code, output, _ = run("reset", *options, "--internal-topics", f"{left.id}-owner")
    assert code == 0
    assert f"leave alone: {left.checkpoint} is the checkpoint of 'other'" in output
    assert note.exists()
    assert output.count("delete topic") == 1
    assert groups.positions(left.id) == {(left.topic, 0): 1, (left.topic, 1): 0}
    code, _, errors = run("reset", *options, "--internal-topics", left.topic)
    assert code == 1
    assert f"no internal topics of {left.id}: {left.topic}" in errors


def test_reset_refuses_while_the_application_runs(run: Run, left: Left, broker: DetachedBroker) -> None:
    member = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": left.id})
    try:
        joined: list[Any] = []
        member.subscribe([f"{left.id}-owner"], on_assign=lambda _, partitions: joined.append(partitions))
        while not joined:
            member.poll(0.1)
        code, output, errors = run("reset", str(left.app), "--yes")
        assert (code, output) == (1, "")
        assert errors.startswith(f"error: {left.id} is running\n  detail: its group has 1 members, on ")
        assert "1" in run("groups", "describe", left.id)[1]
    finally:
        member.close()


def test_reset_asks(run: Run, left: Left, groups: GroupAdmin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run("reset", str(left.app))[0] == 1
    assert groups.positions(left.id)[left.topic, 0] == 2
    code, _, errors = run("reset")
    assert (code, "which application?" in errors) == (1, True)


def test_where_to(left: Left, groups: GroupAdmin) -> None:
    partitions = [(left.topic, 0), (left.topic, 1)]
    before = groups.positions(left.id)

    def offsets(**options: Any) -> list[int]:
        return [offset for _, offset in sorted(chosen(**options)(groups, partitions, before).items())]

    assert offsets() == offsets(to_earliest=True) == [0, 0]
    assert offsets(to_latest=True) == [3, 1]
    assert offsets(to_datetime="1970-01-01T00:00:02") == offsets(to_datetime="1970-01-01T01:00:02+01:00") == [1, 0]
    assert offsets(by_duration="PT1S") == [3, 1]
    assert offsets(by_duration=f"P{(datetime.now(UTC) - datetime.fromtimestamp(0, UTC)).days + 1}D") == [0, 0]
    assert offsets(to_offset=2) == [2, 1]
    assert offsets(shift_by=1) == [3, 1]
    assert offsets(shift_by=-5) == [0, 0]


def test_wrong_targets() -> None:
    with pytest.raises(ArgumentError, match="--to-latest and --shift-by contradict each other"):
        chosen(to_latest=True, shift_by=0)
    with pytest.raises(ArgumentError, match="--to-datetime cannot be 'tomorrow'"):
        chosen(to_datetime="tomorrow")
    for text in ("P", "1D", "PT", "P1W"):
        with pytest.raises(ArgumentError, match="--by-duration cannot be"):
            duration(text)


def test_the_version(run: Run) -> None:
    code, output, _ = run("--version")
    assert code == 0
    assert output.startswith("millstream ")
