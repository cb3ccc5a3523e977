"""What a batch costs when there is much state: the same records, with ten times as many rows beside them.

.venv/bin/python bench/state_size.py [--keys 100000 1000000] [--batches 120] [--records 10000] [--everywhere]

One task as lanes have it, with its stores (RocksDB, memory in front) and its state files, in this process: no Spark, no
Kafka. Prints CPU time and bytes written per batch, and fails if a batch with the most state costs more than 1.3 times
as much as one with the least.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from millstream import Consumed, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig, Topology
from millstream.spark.lanes.versioned_task import VersionedTask
from millstream.spark.plan import Plan, TaskId
from millstream.spark.program import Program
from millstream.spark.state.statefiles import Version
from millstream.task.records import RawRecord

_PRELOADED_AT_ONCE = 100_000
_LIMIT = 1.3


def counting() -> Topology:
    builder = StreamsBuilder()
    grouped = builder.stream("in", Consumed(Serdes.bytes, Serdes.bytes)).group_by_key()
    grouped.count(Materialized("counts")).to_stream().to("out", Produced(Serdes.bytes, Serdes.long))
    return builder.build()


class Measured:
    """A task with some keys, and what its batches cost."""

    def __init__(self, directory: Path, keys: int) -> None:
        topology = counting()
        config = StreamsConfig(
            application_id="state-size", processing_mode="micro_batch", state_dir=directory / "state"
        )
        plan = Plan(topology, {"in": 1, "out": 1})
        program = Program("run", topology, plan, config, 1, str(directory / "checkpoint"), None)
        self._task = VersionedTask(program, TaskId(0, 0), 0)
        self._batch = self._offset = 0
        self.cpu: list[float] = []
        self.bytes: list[int] = []
        for first in range(0, keys, _PRELOADED_AT_ONCE):
            self.run(range(first, min(keys, first + _PRELOADED_AT_ONCE)))
        self.cpu.clear()
        self.bytes.clear()

    def run(self, keys: list[int] | range) -> None:
        """One batch, with a record for each key."""
        self._batch += 1
        version = Version(self._batch, 0)
        records: list[RawRecord] = [
            (b"key-%016d" % key, b"x", self._batch * 1_000, None, self._offset + number)
            for number, key in enumerate(keys)
        ]
        self._offset += len(records)
        cpu, written = time.process_time(), self._task.state_bytes_written
        self._task.begin(version, self._batch * 1_000, None)
        self._task.process({("in", 0): records})
        self._task.end()
        self._task.save(version)
        self._task.finish(version)
        self.cpu.append(time.process_time() - cpu)
        self.bytes.append(self._task.state_bytes_written - written)

    def close(self) -> None:
        self._task.close()


def measure(keys: int, batches: int, records: int, among: int) -> tuple[float, float]:
    """CPU seconds and bytes per batch, on the average: what comes only now and then counts, too."""
    with tempfile.TemporaryDirectory() as directory:
        begun = time.perf_counter()
        task = Measured(Path(directory), keys)
        prepared = time.perf_counter() - begun
        generator = random.Random(7)
        for _ in range(batches):
            task.run([generator.randrange(among) for _ in range(records)])
        files = list(Path(directory, "checkpoint", "millstream", "state", "0_0").iterdir())
        task.close()
        cpu, written = statistics.fmean(task.cpu), statistics.fmean(task.bytes)
        bases = sum(one > 3 * statistics.median(task.bytes) and one > 0.5 * max(task.bytes) for one in task.bytes)
        print(
            f"{keys:>11,} keys: {cpu * 1000:8.1f} ms CPU (median {statistics.median(task.cpu) * 1000:.1f}, most "
            f"{max(task.cpu) * 1000:.1f}), {written / 1e6:6.2f} MB written a batch (most {max(task.bytes) / 1e6:.1f}, "
            f"{bases} large ones); {len(files)} files of {sum(file.stat().st_size for file in files) / 1e6:.0f} MB; "
            f"prepared in {prepared:.0f} s",
            flush=True,
        )
        return cpu, written


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--batches", type=int, default=120)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--everywhere", action="store_true", help="records are of all keys, not of the same ones")
    arguments = parser.parse_args()
    found = [
        measure(keys, arguments.batches, arguments.records, keys if arguments.everywhere else min(arguments.keys))
        for keys in arguments.keys
    ]
    cpu, written = (found[-1][which] / found[0][which] for which in (0, 1))
    times = arguments.keys[-1] / arguments.keys[0]
    print(f"{times:g} times the state: {cpu:.2f} times the CPU time, {written:.2f} times the bytes")
    if cpu > _LIMIT:
        sys.exit(f"more than {_LIMIT} times as much")


if __name__ == "__main__":
    main()
