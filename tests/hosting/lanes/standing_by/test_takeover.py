"""A lane is killed: who has its tasks in reserve goes on with them, and reads next to nothing for it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from millstream.hosting.lanes.notes import slots_topic
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker
from millstream.kafka.topics import NewTopic

SCRIPT = Path(__file__).parents[1] / "lane_process.py"
KEYS, VALUES, ROUND = 700, 300, 4_200
TASKS = 8
Start = Callable[..., "Process"]


class Process:
    """A lane as a process, and what it tells of itself."""

    def __init__(self, given: dict[str, Any]) -> None:
        command = [sys.executable, str(SCRIPT), json.dumps(given)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 - it is ours
        self.told: dict[str, Any] = {"tasks": [], "standbys": {}, "restored": 0}
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with self.process.stdout or nullcontext(()) as lines:
            for line in lines:
                self.told = json.loads(line)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()


def until(condition: Callable[[], object], *lanes: Process) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert all(lane.process.poll() is None for lane in lanes), "a lane has ended"
        assert time.monotonic() < end, f"it did not come: {[lane.told for lane in lanes]}"
        time.sleep(0.02)


@pytest.fixture(params=["in_memory", "rocksdb"])
def service(request: pytest.FixtureRequest, broker: DetachedBroker, admin: Admin) -> dict[str, Any]:
    name = f"standing-{uuid.uuid4().hex[:8]}"
    admin.create_topics([NewTopic(f"{name}-in", 4), NewTopic(f"{name}-keys", 1), NewTopic(f"{name}-values", 1)])
    admin.ensure_topic(slots_topic(name))
    return {
        "service": name,
        "servers": broker.bootstrap_servers,
        "source": f"{name}-in",
        "out": name,
        "stores": request.param,
        "standbys": 1,
    }


@pytest.fixture
def start(service: dict[str, Any]) -> Iterator[Start]:
    """`start(name)`: one lane process more."""
    running: list[Process] = []

    def begin(name: str, **more: Any) -> Process:
        running.append(Process({**service, "name": name, **more}))
        return running[-1]

    yield begin
    for lane in running:
        lane.kill()


def records(first: int) -> list[tuple[str, str]]:
    return [(f"k{n % KEYS}", f"v{n % VALUES}") for n in range(first, first + ROUND)]


def counts(messages: list[Message]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for message in messages:
        found.setdefault((message.key() or b"").decode(), []).append(int.from_bytes(message.value() or b"", "big"))
    return found


def check(service: dict[str, Any], consume: Callable[..., list[Message]], total: int) -> None:
    found = counts(consume(f"{service['out']}-keys", total, timeout=60))
    assert found == {f"k{n}": list(range(1, total // KEYS + 1)) for n in range(KEYS)}
    found = counts(consume(f"{service['out']}-values", total, timeout=60))
    assert found == {f"v{n}": list(range(1, total // VALUES + 1)) for n in range(VALUES)}


def are_warm(*lanes: Process) -> bool:
    """Whether lanes have all tasks, and all of them in reserve, too."""
    tasks = [task for lane in lanes for task in lane.told["tasks"]]
    standbys = [task for lane in lanes for task in lane.told["standbys"]]
    lacks = sum(lag for lane in lanes for lag in lane.told["standbys"].values())
    # Marks of transactions are counted as records that are lacking until the end is reached.
    return len(tasks) == len(set(tasks)) == len(set(standbys)) == TASKS and lacks <= TASKS


def test_a_lane_is_killed(
    service: dict[str, Any],
    start: Start,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
) -> None:
    first, second = start("x-0"), start("x-1")
    produce(service["source"], records(0))
    check(service, consume, ROUND)
    until(lambda: are_warm(first, second), first, second)
    before = second.told["restored"]
    first.kill()
    produce(service["source"], records(ROUND))
    check(service, consume, 2 * ROUND)
    until(lambda: len(second.told["tasks"]) == TASKS, second)
    # Without a standby it would be a record of each key and value, or more.
    assert second.told["restored"] - before < 50
    # One that comes in its place joins only when it has everything in reserve, and so reads nothing for its share.
    third = start("x-0", replaces=True)
    until(lambda: are_warm(second, third) and third.told["tasks"], second, third)
    assert third.told["restored"] < 50
    second.kill()
    produce(service["source"], records(2 * ROUND))
    check(service, consume, 3 * ROUND)
    assert third.told["restored"] < 100


@pytest.mark.parametrize("service", ["rocksdb"], indirect=True)
def test_all_lanes_are_killed_and_the_machine_has_files(
    service: dict[str, Any],
    start: Start,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    """What is in reserve on a machine is of use to the next lane there, however the last one ended."""
    first, second = (start(name, state_dir=str(tmp_path)) for name in ("x-0", "x-1"))
    produce(service["source"], records(0))
    check(service, consume, ROUND)
    until(lambda: are_warm(first, second), first, second)
    until(lambda: [_is_saved(path) for path in tmp_path.glob("*/standbys/*/.checkpoint")].count(True) == TASKS)
    first.kill()
    second.kill()
    third = start("x-0", state_dir=str(tmp_path))
    produce(service["source"], records(ROUND))
    check(service, consume, 2 * ROUND)
    until(lambda: len(third.told["tasks"]) == TASKS, third)
    assert third.told["restored"] < 50


@pytest.mark.parametrize("service", ["rocksdb"], indirect=True)
def test_a_lane_closes_and_leaves_its_stores_to_the_next(
    service: dict[str, Any],
    start: Start,
    produce: Callable[..., None],
    consume: Callable[..., list[Message]],
    tmp_path: Path,
) -> None:
    for number in range(3):
        lane = start("x-0", state_dir=str(tmp_path), standbys=0)
        produce(service["source"], records(number * ROUND))
        check(service, consume, (number + 1) * ROUND)
        until(lambda lane=lane: len(lane.told["tasks"]) == TASKS, lane)  # type: ignore[misc]
        assert lane.told["restored"] == 0
        lane.process.terminate()
        lane.process.wait()
        assert {path.name for path in tmp_path.iterdir()} == {f"{service['service']}-q"}


def _is_saved(path: Path) -> bool:
    found = json.loads(path.read_bytes())
    return all(entry["offset"] > ROUND // KEYS for entry in found["stores"].values())
