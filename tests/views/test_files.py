"""Locks, checkpoints and names of instances."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from millstream import StreamsConfig
from millstream.errors import StateStoreError
from millstream.store_files import CheckpointEntry, TaskDirectory, remove_unused
from millstream.views.instance.files import DirectoryLock, kept_instance_id, views_directory

ENTRIES = {
    "counts": CheckpointEntry("app-counts-changelog", "id-1", 17, False),
    "other": CheckpointEntry("app-other-changelog", "", 0, True),
}


def test_a_checkpoint_is_read_as_it_was_written(tmp_path: Path) -> None:
    directory = TaskDirectory(tmp_path / "0_1")
    assert directory.read_checkpoint() == {}
    directory.write_checkpoint(ENTRIES)
    assert TaskDirectory(tmp_path / "0_1").read_checkpoint() == ENTRIES
    assert [path.name for path in (tmp_path / "0_1").iterdir()] == [".checkpoint"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1}', b'{"version": 2, "stores": {}}', b"\xff\xfe"])
def test_a_checkpoint_that_cannot_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".checkpoint").write_bytes(content)
    assert TaskDirectory(tmp_path).read_checkpoint() == {}


def test_every_cut_of_a_checkpoint_is_none(tmp_path: Path) -> None:
    directory = TaskDirectory(tmp_path)
    directory.write_checkpoint(ENTRIES)
    whole = (tmp_path / ".checkpoint").read_bytes()
    for length in range(len(whole)):
        (tmp_path / ".checkpoint").write_bytes(whole[:length])
        assert directory.read_checkpoint() == {}


def test_wiping_leaves_other_stores(tmp_path: Path) -> None:
    directory = TaskDirectory(tmp_path)
    for name in ("a", "b"):
        directory.store(name).mkdir()
        (directory.store(name) / "000004.log").write_bytes(b"x")
    directory.wipe("a")
    directory.wipe("never-there")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_directory_is_used_once(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    with pytest.raises(StateStoreError, match="in use") as refused:
        DirectoryLock(tmp_path)
    assert str(os.getpid()) in str(refused.value.detail)
    assert "state_dir of its own" in str(refused.value.hint)
    lock.release()
    lock.release()
    DirectoryLock(tmp_path).release()


def test_an_instance_keeps_its_name(tmp_path: Path) -> None:
    config = StreamsConfig(application_id="orders", state_dir=tmp_path)
    name = kept_instance_id(config)
    assert kept_instance_id(config) == name
    assert views_directory(config) == tmp_path / "orders" / "views"
    assert kept_instance_id(StreamsConfig(application_id="others", state_dir=tmp_path)) != name


def test_files_of_tasks_that_went_elsewhere_go_after_a_while(tmp_path: Path) -> None:
    for task, age in (("0_0", 100), ("0_1", 100), ("0_2", 10)):
        TaskDirectory(tmp_path / task).write_checkpoint(ENTRIES)
        long_ago = time.time() - age
        os.utime(tmp_path / task / ".checkpoint", (long_ago, long_ago))
    (tmp_path / ".instance").write_text("me")
    assert remove_unused(tmp_path, {"0_0"}, 50) == ["0_1"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".instance", "0_0", "0_2"]
