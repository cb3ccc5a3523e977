"""An application that is asked to end while records flow, by a supervisor and by a terminal."""

from __future__ import annotations

from pathlib import Path

from tests.spark.crashes import crash, interrupt, terminate


def test_the_application_is_asked_to_end(tmp_path: Path) -> None:
    crash(tmp_path, [terminate, interrupt], records=3_000, seed=15)
