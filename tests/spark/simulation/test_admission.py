"""What the driver does for each batch where there are many partitions."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

from millstream.spark.calls.shipping import PROGRAM, shipped
from millstream.spark.driver.admission import Admission
from millstream.spark.driver.agreement import progress_of
from millstream.spark.driver.control import Control
from millstream.spark.driver.source import Run, TopicsReader
from millstream.spark.program import Program

from .large import BUYS, LANES, ORDERS, PARTITIONS, Broker, cpu_seconds, program

#: Brokers take no larger commit unless `message.max.bytes` says so.
_LARGEST_COMMIT = 1_000_000
#: What a broker keeps of a committed offset beside its topic and metadata, measured on one.
_OFFSET_BYTES = 60


class Driver:
    """The driver's reader of an application, and a broker that has something for each of its partitions."""

    def __init__(self, directory: Path, partitions: int = PARTITIONS, lanes: int = LANES) -> None:
        self.program = program(directory, partitions, lanes)
        self.broker = Broker(self.program.plan.external)
        self.control = control = Control(directory)
        self.admission = Admission(self.program, self.broker, control)  # type: ignore[arg-type]
        control.membership_path.write_bytes(b"m" * 200)
        self.shipped = shipped(self.program)
        (directory / PROGRAM).write_bytes(self.shipped)
        self.reader = TopicsReader(Run("run", None), directory / PROGRAM, control)
        self.reader._lazy = (self.program, self.admission)
        self.start = self.admission.beginning()
        self.broker.records = 10_000

    def admit(self) -> dict[str, Any]:
        return self.admission.next(self.start)


def test_a_batch_is_admitted_and_spread_within_milliseconds(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    admitting, end = cpu_seconds(driver.admit)
    assert admitting < 0.25, "20 ms, measured"
    spreading, _ = cpu_seconds(lambda: driver.reader.partitions(driver.start, end))
    assert spreading < 0.05, "4 ms, measured; looking for tasks in a list took 220"
    assert len(driver.control.take_requests() or ()) == LANES
    driver.broker.requests = 0
    driver.admit()
    assert driver.broker.requests <= 3, "of all partitions at once, whatever their number"


def test_what_is_written_and_sent_for_a_batch_follows_the_partitions(tmp_path: Path) -> None:
    driver = Driver(tmp_path)
    end = driver.admit()
    entry = len(json.dumps(end))
    assert entry < 20 * 2 * PARTITIONS, "28 kB, measured: an entry of Spark's log of offsets"
    driver.reader.partitions(driver.start, end)
    requests = driver.control.take_requests()
    assert requests is not None
    assert len(pickle.dumps(requests)) < 100 * 2 * PARTITIONS, "93 kB, measured, of all lanes: once per executor"
    assert len(driver.shipped) < 60 * len(driver.program.plan.tasks), "88 kB, measured: once per executor and batch"


def test_four_times_the_partitions_take_not_much_more_than_four_times_as_long(tmp_path: Path) -> None:
    def work(partitions: int) -> float:
        directory = tmp_path / str(partitions)
        directory.mkdir()
        driver = Driver(directory, partitions, partitions // 5)
        seconds, end = cpu_seconds(driver.admit, 5)
        return seconds + cpu_seconds(lambda: driver.reader.partitions(driver.start, end), 5)[0]

    assert work(4_000) < 10 * work(1_000)


def test_what_is_committed_after_a_batch_fits_into_one_request(tmp_path: Path) -> None:
    """It is one batch of records in a topic of the broker's own. One that is too large gets "unknown broker error"."""
    found = program(tmp_path, processing_guarantee="at_least_once")
    offsets = {(at.topic, at.partition): at for at in progress_of(found, reports(found))}
    size = sum(len(f"{topic}{at.metadata}") + _OFFSET_BYTES for (topic, _), at in offsets.items())
    assert size < _LARGEST_COMMIT, "650 kB, measured, and more where the address of the checkpoint is long"


def reports(found: Program) -> list[dict[str, Any]]:
    """What lanes say of a batch in which each task has done something."""
    plan = found.plan
    reported: list[dict[str, Any]] = []
    read: dict[int, list[list[Any]]] = {}
    for topic in (ORDERS, BUYS):
        for partition in range(PARTITIONS):
            read.setdefault(plan.reading_lane(topic, partition, LANES), []).append([topic, partition, 123_456_789])
    for lane in range(LANES):
        tasks, ends = plan.tasks_of_lane(lane, LANES), read[lane]
        for wave in range(plan.waves):
            here = [task for task in tasks if wave in plan.parts[task.sub_topology].topics.values()]
            report = {"batch": 123_456, "wave": wave, "content": "0123456789abcdef", "ends": [] if wave else ends}
            reported.append({**report, "tasks": {task.name: {"state": (123_456, wave)} for task in here}})
    return reported
