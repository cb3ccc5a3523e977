"""Topologies have the same results on a cluster of two machines as in the test driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.cluster import can_hide, standalone
from tests.spark.parity.host import MASTER

PARITY = Path(__file__).parents[1] / "spark" / "test_continuous_parity.py"


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_all_topologies() -> None:
    with standalone() as cluster:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PARITY)]
        done = subprocess.run(  # noqa: S603 - our own tests, where Spark has no session yet
            command,
            env={**os.environ, MASTER: cluster.master},
            cwd=PARITY.parents[2],
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
