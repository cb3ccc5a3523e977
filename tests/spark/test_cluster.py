"""On a cluster: executors at other addresses, with temporary directories of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cluster import can_hide, standalone
from .crashes import App, finish, running, wait_until


@pytest.mark.skipif(not can_hide(), reason="this machine does not allow mount namespaces")
def test_an_executor_dies_and_nothing_is_left_when_the_application_ends(tmp_path: Path) -> None:
    with (
        standalone() as cluster,
        running(tmp_path, records=300, a_second=300, seed=3, master=cluster.master, stores="memory") as (
            broker, app, feed, results,
        ),
    ):  # fmt: skip
        results.wait_for(100, app)
        places = [worker.lanes() for worker in cluster.workers]
        assert sorted(places) == [["lane-0"], ["lane-1"]], "every lane is on one machine, and has been nowhere else"
        assert cluster.workers[0].kill_executors() == 1
        finish(app, feed, results)
        wait_until(lambda: not any(w.runs() or w.processes() for w in cluster.workers), "nothing to be left", 15)

        elsewhere = App(broker.bootstrap_servers, cluster.hidden, cluster.master, "memory")
        with pytest.raises(AssertionError, match="the application ended"):
            elsewhere.start()
        assert "Spark's executors do not see the checkpoint" in elsewhere.tail()
        assert not elsewhere.end()
