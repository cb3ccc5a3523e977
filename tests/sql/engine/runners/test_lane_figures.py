"""What lanes tell of their queries, put together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from millstream.config import StreamsConfig
from millstream.hosting.lanes.messages import Figures
from millstream.sql.engine.runners.lane_queries import LaneQueries, _Running
from millstream.sql.processing_log import PythonLog


def test_the_figures_of_lanes_are_put_together() -> None:
    queries = LaneQueries(StreamsConfig(application_id="shop", bootstrap_servers="nowhere:9092"), PythonLog())
    job = SimpleNamespace(lanes={0, 1})
    queries._job = cast("Any", job)
    queries._running["q"] = _Running(cast("Any", None))
    queries._hear(0, Figures("q", 2, 30, 0, {"orders-0": 20, "orders-1": 10}, {}))
    queries._hear(1, Figures("q", 0, 0, 0, {}, {}, restoring=1))
    assert queries.told() == {"q": {"processed": 30.0, "orders-0": 20, "orders-1": 10}}
    assert queries.tasks() == {"q": {0: (2, 0), 1: (0, 1)}}
    # A task moves: the lane that had it does not tell of it any more.
    queries._hear(0, Figures("q", 1, 25, 0, {"orders-0": 25}, {}))
    queries._hear(1, Figures("q", 1, 5, 0, {"orders-1": 15}, {}))
    assert queries.told() == {"q": {"processed": 30.0, "orders-0": 25, "orders-1": 15}}
    job.lanes = {1}  # the other died
    assert queries.told() == {"q": {"processed": 5.0, "orders-1": 15}}
