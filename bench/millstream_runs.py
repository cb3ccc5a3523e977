"""Millstream's side of comparisons, as processes of their own: bench/millstream_job.py."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_JOB = Path(__file__).with_name("millstream_job.py")


def command(
    bootstrap: str,
    workload: str,
    guarantee: str,
    topic: str,
    output: str,
    records: int,
    *,
    mode: str = "continuous",
    master: str | None = None,
    batch_records: int | None = None,
) -> list[str]:
    """How a workload is started."""
    started = [sys.executable, str(_JOB), "--bootstrap", bootstrap, "--workload", workload]
    started += ["--launched", str(time.time()), "--mode", mode]
    if master is not None:
        started += ["--master", master]
    if batch_records is not None:
        started += ["--batch-records", str(batch_records)]
    return [*started, "--guarantee", guarantee, "--input", topic, "--output", output, "--records", str(records)]


def last_line(started: list[str]) -> dict[str, Any]:
    """Run a workload; what it says at its end."""
    done = subprocess.run(started, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900, check=False)  # noqa: S603 - our own script
    if done.returncode != 0:
        sys.exit(f"{' '.join(started)} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
