"""Whatever is killed while records are processed, every result is there exactly once.

`make soak` does the same with more kills at other moments, see bench/soak.py.
"""

from __future__ import annotations

from pathlib import Path

from .crashes import (
    crash,
    kill_broker,
    kill_driver,
    kill_executor,
    kill_lane,
    kill_reader,
    kill_worker,
)


def test_the_driver_is_killed(tmp_path: Path) -> None:
    crash(tmp_path, [kill_driver], records=2_000, seed=11, stores="rocksdb")


def test_lanes_and_python_workers_are_killed(tmp_path: Path) -> None:
    kills = [kill_lane, kill_worker, kill_reader, kill_lane]
    crash(tmp_path, kills, records=3_000, seed=12, stores="rocksdb")


def test_the_broker_is_killed(tmp_path: Path) -> None:
    crash(tmp_path, [kill_broker], records=2_000, seed=13, stores="memory")


def test_executors_are_killed(tmp_path: Path) -> None:
    kills = [kill_executor, kill_lane]
    crash(tmp_path, kills, records=2_000, seed=14, stores="memory", master="local-cluster[2,1,1024]")
