"""What the driver and its reader tell each other."""

from __future__ import annotations

import shutil
from pathlib import Path

from millstream.spark.driver.control import Control, LastBatch


def test_both_sides_hear_what_the_other_says(tmp_path: Path) -> None:
    driver, reader = Control(tmp_path), Control(tmp_path)
    assert (reader.is_paused, reader.last, reader.due) == (False, None, None)
    assert (driver.rests, driver.has_other_topics, driver.lag) == (False, False, 0)
    driver.pause()
    assert reader.is_paused
    reader.tell_rests()
    assert driver.rests
    driver.resume()
    assert not reader.is_paused
    driver.tell_last(LastBatch(1.5, 80.0))
    driver.tell_due(12)
    assert reader.last == LastBatch(1.5, 80.0)
    assert reader.due == 12
    driver.tell_due(None)
    assert reader.due is None
    reader.tell_lag(7)
    reader.tell_other_topics()
    assert (driver.lag, driver.has_other_topics) == (7, True)


def test_a_new_pause_forgets_the_rest_before(tmp_path: Path) -> None:
    control = Control(tmp_path)
    control.pause()
    control.tell_rests()
    control.resume()
    control.pause()
    assert not control.rests


def test_what_is_said_after_the_end_is_not_heard(tmp_path: Path) -> None:
    control = Control(tmp_path / "run")
    control.directory.mkdir()
    shutil.rmtree(control.directory)
    control.pause()
    control.tell_rests()
    control.tell_lag(3)
    control.tell_due(3)
    assert not control.directory.exists()
