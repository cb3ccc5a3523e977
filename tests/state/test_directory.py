"""The files of a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import StateStoreError
from millstream.state import TaskDirectory


def test_stores_live_below_application_and_task(tmp_path: Path) -> None:
    with TaskDirectory(tmp_path, "app", "0_1") as directory:
        assert directory.store("counts") == tmp_path / "app" / "0_1" / "counts"


def test_a_directory_is_locked_while_it_is_open(tmp_path: Path) -> None:
    with TaskDirectory(tmp_path, "app", "0_1"):
        with pytest.raises(StateStoreError, match="task 0_1 is locked"):
            TaskDirectory(tmp_path, "app", "0_1")
        TaskDirectory(tmp_path, "app", "0_2").close()
    TaskDirectory(tmp_path, "app", "0_1").close()


def test_checkpoints(tmp_path: Path) -> None:
    with TaskDirectory(tmp_path, "app", "0_0") as directory:
        assert directory.read_checkpoint() == {}
        versions = {"counts": 17, "odd name\n%": -1}
        directory.write_checkpoint(versions)
        assert directory.read_checkpoint() == versions
        assert (directory.path / ".checkpoint").read_text() == "1\n2\ncounts 17\nodd%20name%0A%25 -1\n"
        directory.write_checkpoint({"counts": 18})
        assert directory.take_checkpoint() == {"counts": 18}
        assert directory.read_checkpoint() == {}
        assert [path.name for path in directory.path.iterdir()] == [".lock"]


@pytest.mark.parametrize("text", ["", "1", "2\n0\n", "1\n2\na 1\n", "1\n1\na b c\n", "1\n1\na x\n"])
def test_a_damaged_checkpoint_is_an_error(tmp_path: Path, text: str) -> None:
    with TaskDirectory(tmp_path, "app", "0_0") as directory:
        (directory.path / ".checkpoint").write_text(text)
        with pytest.raises(StateStoreError, match="cannot be read"):
            directory.read_checkpoint()
        directory.wipe()
        assert directory.read_checkpoint() == {}


def test_wiping_removes_the_stores(tmp_path: Path) -> None:
    with TaskDirectory(tmp_path, "app", "0_0") as directory:
        directory.store("counts").mkdir()
        (directory.store("counts") / "file").write_text("x")
        directory.write_checkpoint({"counts": 1})
        directory.wipe()
        assert [path.name for path in directory.path.iterdir()] == [".lock"]
