"""A checkpoint is moved and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.spark.driver.setting_aside import SetAside
from millstream.spark.state.checkpoint import Checkpoint


def test_it_is_moved_and_put_back(tmp_path: Path) -> None:
    location = tmp_path / "checkpoint"
    Checkpoint(str(location)).write("application.json", {"format": 2, "id": "old"})
    aside = SetAside.move(str(location))
    assert aside is not None
    assert not location.exists()
    assert Path(aside.path).name.startswith("checkpoint.damaged-")
    (location / "millstream").mkdir(parents=True)  # a start that came to nothing
    assert aside.put_back()
    assert Checkpoint(str(location)).known_id() == "old"
    assert not Path(aside.path).exists()


def test_another_one_stays(tmp_path: Path) -> None:
    location = tmp_path / "checkpoint"
    Checkpoint(str(location)).write("application.json", {"format": 2, "id": "old"})
    aside = SetAside.move(str(location))
    assert aside is not None
    Checkpoint(str(location)).write("application.json", {"format": 2, "id": "new"})
    assert not aside.put_back()
    assert Checkpoint(str(location)).known_id() == "new"
    assert Path(aside.path).exists()


def test_where_it_cannot_be_moved_it_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert SetAside.move(str(tmp_path / "nothing")) is None
    assert "cannot be set aside" in caplog.text
