"""A driver and a lane that only share a directory."""

from __future__ import annotations

import os
from pathlib import Path

from millstream.spark.calls.onlookers import Onlookers, look, seen_path
from millstream.task.watching.watch import Watch


def test_lanes_look_only_while_somebody_does(tmp_path: Path) -> None:
    socket = tmp_path / "lane-0"
    onlookers = Onlookers(socket)
    onlookers.serve()  # it has no tasks yet
    onlookers.watch = watch = Watch("app")
    onlookers.serve()
    assert not watch.is_on
    assert look(tmp_path, 2) == []
    onlookers.serve()
    assert watch.is_on
    (seen,) = look(tmp_path, 2)
    assert seen.nodes == {}
    watch.look(0)
    os.utime(tmp_path / "onlooker", (0, 0))  # nobody has looked since
    onlookers.serve()
    assert not watch.is_on


def test_what_was_seen_long_ago_is_not_shown(tmp_path: Path) -> None:
    onlookers = Onlookers(tmp_path / "lane-0")
    onlookers.watch = Watch("app")
    look(tmp_path, 1)
    onlookers.serve()
    assert len(look(tmp_path, 1)) == 1
    os.utime(seen_path(tmp_path / "lane-0"), (0, 0))
    assert look(tmp_path, 1) == []


def test_a_run_that_is_over_is_no_error(tmp_path: Path) -> None:
    assert look(tmp_path / "gone", 1) == []
