"""A timer that was made in one lane is called in another one, which has the task from its state files."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from millstream import Processor, Produced, PunctuationType, Record, Serdes, StreamsBuilder, StreamsConfig
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import Version

TASK = TaskId(0, 0)


class Remind(Processor[str, str, str, str]):
    """Forwards a key once more ten seconds after it came."""

    def process(self, record: Record[str, str]) -> None:
        once = partial(self.remind, record.key)
        self.context.schedule(timedelta(seconds=10), PunctuationType.WALL_CLOCK_TIME, once)

    def remind(self, key: str, now: int) -> None:
        self.context.forward(Record(key, "remember", now))
        next(timer for timer in self.context.schedules if timer.punctuator.args == (key,)).cancel()  # type: ignore[attr-defined]


def lane(directory: Path, number: int) -> VersionedTask:
    builder = StreamsBuilder()
    builder.stream("in").process(Remind).to("out", Produced(Serdes.string, Serdes.string))
    topology = builder.build()
    config = StreamsConfig(
        application_id="app",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.string,
        state_dir=directory / f"state{number}",
    )
    plan = Plan(topology, {"in": 1, "out": 1})
    checkpoint = str(directory / "checkpoint")
    return VersionedTask(Program("run", topology, plan, config, 1, checkpoint, None), TASK, 0)


def batch(task: VersionedTask, number: int, now: int, *keys: str) -> list[Any]:
    """Run a batch; the keys that come out."""
    version = Version(number, 0)
    task.begin(version, now, None)
    outputs = task.process({("in", 0): [(key.encode(), b"", now, None, number) for key in keys]}) + task.end()
    task.save(version)
    task.finish(version)
    return [(key, timestamp) for _, _, key, _, timestamp, *_ in outputs]


def test_timers_go_on_in_another_lane(tmp_path: Path) -> None:
    first, second = lane(tmp_path, 1), lane(tmp_path, 2)
    assert batch(first, 0, 1_000, "a") == []
    assert batch(second, 1, 5_000, "b") == []  # it has the first batch from its state file
    assert batch(first, 2, 11_000) == [(b"a", 11_000)]  # and back: the first goes on with what the second did
    third = lane(tmp_path, 3)
    assert batch(third, 3, 15_000) == [(b"b", 15_000)]
    assert batch(third, 4, 99_000) == []
    for task in (first, second, third):
        task.close()
