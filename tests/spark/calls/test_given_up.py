"""Spark tries a failed part four times; a lane is asked again only if it might answer something else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import DeserializationError, MillstreamError, ProcessingError, ProductionError, StreamsError
from millstream.kafka.errors import BrokerUnavailable
from millstream.spark.calls import client as lane_client
from millstream.spark.calls import run_directory
from millstream.spark.failures import described, of_spark


class _Asked:
    """Answers for a lane, and counts."""

    def __init__(self, error: MillstreamError) -> None:
        self._error = error
        self.times = 0

    def __call__(self, *_: Any) -> dict[str, Any]:
        self.times += 1
        return {"error": described(self._error)}


@pytest.fixture(autouse=True)
def _run(short_tempdir: Path) -> None:
    run_directory.drivers_directory("run")


def _failure(*, batch: int = 3, attempt: int = 0) -> MillstreamError:
    with pytest.raises(StreamsError) as caught:
        lane_client.call("run", 0, os.getpid(), b"", {"batch": batch, "wave": 0, "attempt": attempt})
    return of_spark(caught.value.primary)


@pytest.mark.parametrize("kind", [ProcessingError, DeserializationError, ProductionError])
def test_what_fails_the_same_way_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, kind: type[StreamsError]) -> None:
    asked = _Asked(kind("it failed", detail="at a record", hint="mend it"))
    monkeypatch.setattr(lane_client, "_answer", asked)
    first = _failure()
    for attempt in (1, 2, 3):
        error = _failure(attempt=attempt)
        assert (type(error), str(error)) == (kind, str(first))
    assert asked.times == 1
    _failure(batch=4, attempt=1)  # another one
    assert asked.times == 2
    _failure(batch=4)  # the query was started again
    assert asked.times == 3


@pytest.mark.parametrize(
    "failure",
    [BrokerUnavailable("no broker answers"), ProductionError("it was not written in time", retriable=True)],
    ids=lambda failure: type(failure).__name__,
)
def test_what_may_go_well_next_time_is_tried_again(monkeypatch: pytest.MonkeyPatch, failure: StreamsError) -> None:
    asked = _Asked(failure)
    monkeypatch.setattr(lane_client, "_answer", asked)
    for attempt in range(4):
        assert isinstance(_failure(attempt=attempt), type(failure))
    assert asked.times == 4
