"""The directories of lanes that were killed go with the next lane; those of the others stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from millstream.hosting.lanes.scratch import Scratch

_LANE = "import sys, pathlib\nfrom millstream.hosting.lanes.scratch import Scratch\n"
_LANE += "print(Scratch(pathlib.Path(sys.argv[1])).path, flush=True)\nsys.stdin.read()\n"


def test_what_a_killed_lane_left_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-c", _LANE, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        left = Path(other.stdout.readline().strip())
        (left / "rows").write_text("x")
        first = Scratch(tmp_path)
        assert left.exists()
        os.kill(other.pid, signal.SIGKILL)
    second = Scratch(tmp_path)
    assert not left.exists()
    assert first.path.exists()
    second.remove()
    first.remove()
    assert list(tmp_path.iterdir()) == []
