"""Whatever is killed while records are processed, every result is there exactly once.

`make soak` does the same with more kills at other moments, see bench/soak.py. The driver is killed in tests/faults,
and executors in test_cluster.py.
"""

from __future__ import annotations

from pathlib import Path

from .crashes import crash, kill_broker, kill_driver, kill_lane, kill_worker


def test_lanes_python_workers_and_the_broker_are_killed(tmp_path: Path) -> None:
    kills = [kill_lane, kill_worker, kill_broker]
    crash(tmp_path, kills, records=1_200, seed=12, stores="rocksdb")


def test_continuously_lanes_and_the_driver_are_killed(tmp_path: Path) -> None:
    """There a lane is one of Spark's own Python workers."""
    crash(tmp_path, [kill_worker, kill_driver], records=1_200, seed=7, stores="rocksdb", mode="continuous")
