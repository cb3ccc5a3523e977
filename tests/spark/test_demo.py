"""`make demo` runs, and its results make sense."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "examples" / "live_orders.py"


def test_the_demo_runs_and_stops_by_itself() -> None:
    demo = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(DEMO), "--seconds", "5"], capture_output=True, text=True, timeout=600, check=False
    )

    assert demo.returncode == 0, demo.stderr[-3000:]
    done = re.search(r"done: ([\d,]+) orders sent, ([\d,]+) shipped, (\d+) windows", demo.stdout)
    assert done is not None, demo.stdout[-3000:]
    sent, shipped, windows = (int(number.replace(",", "")) for number in done.groups())
    assert 0 < shipped < sent
    assert windows > 0
