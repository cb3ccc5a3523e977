"""State files that are missing or damaged, and those that pile up, seen by a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream import Grouped, Materialized, Produced, Serdes, StateStoreError, StreamsBuilder, StreamsConfig
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import Version

TASK = TaskId(1, 0)


class Counting:
    """A task that counts behind an exchange, in wave 1, one record per batch; several copies share the checkpoint."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._copies = 0
        builder = StreamsBuilder()
        (
            builder.stream("in")
            .map(lambda key, value: (value, value))
            .group_by_key(Grouped(Serdes.string, Serdes.string))
            .count(materialized=Materialized("counts"))
            .to_stream()
            .to("out", Produced(Serdes.string, Serdes.long))
        )
        self._topology = builder.build()
        self._plan = Plan(self._topology, {"in": 1, "out": 1})

    @property
    def files(self) -> list[Path]:
        return sorted((self._directory / "checkpoint/millstream/state/1_0").iterdir())

    def copy(self) -> VersionedTask:
        """As in a process of its own."""
        self._copies += 1
        config = StreamsConfig(
            application_id="app",
            default_key_serde=Serdes.string,
            default_value_serde=Serdes.string,
            statestore_cache_max_bytes=0,
            state_dir=self._directory / f"state{self._copies}",
        )
        checkpoint = str(self._directory / "checkpoint")
        return VersionedTask(Program("run", self._topology, self._plan, config, 1, checkpoint, None), TASK, 0)

    def run(self, task_id: VersionedTask, batch: int) -> int:
        """Run a batch; the count that comes out."""
        version = Version(batch, 1)
        ((topic, _),) = self._plan.parts[TASK.sub_topology].topics.items()
        task_id.begin(version, 5_000, None)
        outputs = task_id.process({(f"app-{topic}", 0): [(b"k", b"k", 1_000, None, batch)]}) + task_id.end()
        task_id.save(version)
        task_id.finish(version)
        ((_, _, _, value, *_),) = outputs
        return int.from_bytes(value or b"", "big")


@pytest.fixture
def counting(tmp_path: Path) -> Counting:
    return Counting(tmp_path)


def test_a_task_behind_an_exchange_removes_what_is_old(counting: Counting) -> None:
    task_id = counting.copy()
    most = 0
    for batch in range(201):
        assert counting.run(task_id, batch) == batch + 1
        most = max(most, len(counting.files))
    assert most < 70
    assert counting.run(counting.copy(), 201) == 202
    task_id.close()


def test_copies_take_turns(counting: Counting) -> None:
    one, two = counting.copy(), counting.copy()
    for batch in range(150):
        assert counting.run(one if batch // 5 % 2 else two, batch) == batch + 1
    one.close()
    two.close()


def test_a_missing_file_is_told(counting: Counting) -> None:
    task_id = counting.copy()
    for batch in range(5):
        counting.run(task_id, batch)
    task_id.close()
    counting.files[2].unlink()

    with pytest.raises(StateStoreError, match="000000000002-001 is not there"):
        counting.run(counting.copy(), 5)


def test_a_damaged_file_is_told_and_nothing_of_it_is_used(counting: Counting) -> None:
    one, two = counting.copy(), counting.copy()
    counting.run(one, 0)
    counting.run(two, 1)
    counting.run(two, 2)
    path = counting.files[2]
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))

    with pytest.raises(StateStoreError, match="damaged"):
        counting.run(one, 3)  # it has taken batch 1 by then
    with pytest.raises(StateStoreError, match="damaged"):
        counting.run(one, 3)
    path.write_bytes(good)  # from a backup
    assert counting.run(one, 3) == 4
    one.close()
    two.close()
