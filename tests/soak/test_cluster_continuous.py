"""Continuously on a cluster: lanes are spread over machines, and go on elsewhere when one of them dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.cluster import can_hide, standalone
from tests.spark.crashes import finish, running, wait_until


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_an_executor_dies(tmp_path: Path) -> None:
    with (
        standalone() as cluster,
        running(
            tmp_path,
            records=1_500,
            a_second=100,
            seed=5,
            master=cluster.master,
            stores="rocksdb",
            mode="continuous",
        ) as (_, app, feed, results),
    ):
        results.wait_for(200, app)
        assert all(list(worker.directory.glob("millstream-lane-*")) for worker in cluster.workers), "lanes everywhere"
        assert cluster.workers[0].kill_executors() == 1
        finish(app, feed, results)
        wait_until(lambda: not any(worker.processes() for worker in cluster.workers), "nothing to be left", 15)


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_a_machine_that_joins_gets_lanes(tmp_path: Path) -> None:
    with (
        standalone(workers=1) as cluster,
        running(
            tmp_path,
            records=1_500,
            a_second=100,
            seed=6,
            master=cluster.master,
            stores="memory",
            mode="continuous",
        ) as (_, app, feed, results),
    ):
        results.wait_for(100, app)
        late = cluster.join()
        wait_until(lambda: list(late.directory.glob("millstream-lane-*")), "a lane on the machine that came later")
        finish(app, feed, results)
