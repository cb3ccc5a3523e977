"""On a cluster: lanes are spread over machines, and go on elsewhere when one of them dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import get_args

import pytest
from tests.spark.cluster import Worker, can_hide, standalone
from tests.spark.crashes import finish, running, wait_until

from millstream.config import ProcessingMode


def has_lanes(worker: Worker) -> bool:
    """Whether Spark runs Python there."""
    return any("pyspark.daemon" in process.command for process in worker.processes())


@pytest.mark.parametrize("mode", get_args(ProcessingMode))
@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_an_executor_dies_then_the_driver_and_then_a_whole_machine(tmp_path: Path, mode: ProcessingMode) -> None:
    with (
        standalone() as cluster,
        running(
            tmp_path,
            records=4_000,
            a_second=60,
            seed=5,
            master=cluster.master,
            stores="rocksdb",
            mode=mode,
        ) as (_, app, feed, results),
    ):
        results.wait_for(200, app)
        assert all(has_lanes(worker) for worker in cluster.workers)
        assert cluster.workers[0].kill_executors() == 1
        results.wait_for(min(results.seen.values()) + 300, app)
        app.kill_driver()
        results.wait_for(min(results.seen.values()) + 300, app)
        gone = cluster.workers[1]
        gone.process.kill()
        for process in gone.processes():
            os.kill(process.pid, signal.SIGKILL)
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
        wait_until(lambda: has_lanes(late), "a lane on the machine that came later")
        finish(app, feed, results)


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_in_batches_all_executors_die_at_once_and_again(tmp_path: Path) -> None:
    with (
        standalone() as cluster,
        running(tmp_path, records=1_500, a_second=60, seed=9, master=cluster.master, stores="rocksdb") as (
            _, app, feed, results,
        ),
    ):  # fmt: skip
        results.wait_for(100, app)
        for _ in range(2):
            assert sum(worker.kill_executors() for worker in cluster.workers) == 2
            results.wait_for(min(results.seen.values()) + 200, app)
        finish(app, feed, results)
