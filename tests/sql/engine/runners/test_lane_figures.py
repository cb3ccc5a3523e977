"""What lanes tell of their queries, put together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from millstream.config import StreamsConfig
from millstream.hosting.lanes.messages import Figures, Look, Watched
from millstream.sql.engine.runners.lane_queries import LaneQueries, _Running
from millstream.sql.processing_log import PythonLog
from millstream.task.watching.watch import Seen, SeenNode


def test_the_figures_of_lanes_are_put_together() -> None:
    queries = LaneQueries(StreamsConfig(application_id="shop", bootstrap_servers="nowhere:9092"), PythonLog())
    job = SimpleNamespace(lanes={0, 1})
    queries._job = cast("Any", job)
    queries._running["q"] = _Running(cast("Any", None))
    queries._hear(0, Figures("q", ("0_0", "0_1"), 30, 0, {"orders-0": 20, "orders-1": 10}, {}))
    queries._hear(1, Figures("q", (), 0, 0, {}, {}, {"0_2": 0.5}))
    assert queries.told() == {"q": {"processed": 30.0, "orders-0": 20, "orders-1": 10}}
    assert queries.tasks() == {"q": {0: (("0_0", "0_1"), {}), 1: ((), {"0_2": 0.5})}}
    # A task moves: the lane that had it does not tell of it any more.
    queries._hear(0, Figures("q", ("0_0",), 25, 0, {"orders-0": 25}, {}))
    queries._hear(1, Figures("q", ("0_1",), 5, 0, {"orders-1": 15}, {}))
    assert queries.told() == {"q": {"processed": 30.0, "orders-0": 25, "orders-1": 15}}
    job.lanes = {1}  # the other died
    assert queries.told() == {"q": {"processed": 5.0, "orders-1": 15}}


def test_lanes_are_told_that_somebody_looks_and_tell_what_they_see() -> None:
    queries = LaneQueries(StreamsConfig(application_id="shop", bootstrap_servers="nowhere:9092"), PythonLog())
    orders: list[Any] = []
    queries._job = cast("Any", SimpleNamespace(lanes={0, 1}, order=orders.append))
    queries._running["q"] = _Running(cast("Any", None))
    assert queries.look("q", 5.0) == queries.look("q", 5.0) == []
    assert orders == [Look("q", 5.0)], "those who look at the same time are one"
    seen = Seen(10, 4, {"SOURCE": SeenNode(7.0, 4)})
    queries._hear(0, Watched("q", seen))
    queries._hear(7, Watched("q", Seen()))  # a lane that is gone
    assert queries.look("q", 5.0) == [seen]
    assert queries.look("none", 5.0) == []
