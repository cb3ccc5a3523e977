"""Spark's JVM is gone, and nobody but the application can say so."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.spark.lane_job import job as lane_job
from millstream.spark.lane_job.job import LaneJob

_SECONDS = 30.0


class Gone:
    """A context whose JVM does not answer, for whatever it is asked."""

    master = "local[1]"

    def __init__(self) -> None:
        self.asked = 0

    def getConf(self) -> dict[str, str]:
        return {}

    def setJobGroup(self, *_: Any) -> None:
        self.asked += 1
        raise ConnectionRefusedError(111, "Connection refused")

    @property
    def _jsc(self) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")


def test_lanes_are_not_asked_for_again_and_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lane_job, "lanes_of", lambda session: 1)
    context, told = Gone(), list[Exception]()
    config = StreamsConfig(bootstrap_servers="nowhere:1")
    job = LaneJob(config, "service", lambda lane, event: None, told.append)
    job.start(SimpleNamespace(sparkContext=context))  # type: ignore[arg-type]
    try:
        deadline = time.monotonic() + _SECONDS
        while not told and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [type(error) for error in told] == [ConnectionRefusedError]
        assert context.asked == 1
        assert "Spark is gone, and its lanes with it" in caplog.text
    finally:
        assert job.close()
