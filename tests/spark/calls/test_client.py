"""How Spark's workers talk to a lane, with somebody who answers in its place."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import MillstreamError, ProcessingError, StreamsError
from millstream.spark.calls import client as lane_client
from millstream.spark.calls import run_directory, waiting
from millstream.spark.calls.frames import receive, send
from millstream.spark.calls.handshake import NotOursError, greet_client
from millstream.spark.calls.label import Label, labelled
from millstream.spark.failures import described, of_spark

from ..crashes import wait_until

SECRET = b"s" * 32
PROGRAM = labelled(Label(SECRET, "0", 60.0, {}), b"the program")
ROWS = [(1, 1, b"parcel"), (0, -1, b"statistics")]

Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


class StandIn:
    """Listens on a lane's socket, and answers each message by a function; None: it is gone."""

    def __init__(self, path: Path, answer: Answer, secret: bytes = SECRET) -> None:
        self.messages: list[dict[str, Any]] = []
        self._answer = answer
        self._secret = secret
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            with connection:
                try:
                    greet_client(connection, self._secret)
                except (NotOursError, ConnectionError):
                    continue
                while (message := receive(connection)) is not None:
                    self.messages.append(message)
                    answer = self._answer(message)
                    if answer is None:
                        break
                    send(connection, answer)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(60)


class Run:
    """A run with this process as its driver, whose lanes are stand-ins."""

    def __init__(self) -> None:
        self.path = run_directory.drivers_directory("run")
        self._lanes: list[StandIn] = []

    def lane(self, answer: Answer, index: int = 0, secret: bytes = SECRET) -> StandIn:
        self._lanes.append(StandIn(self.path / f"lane-{index}", answer, secret))
        return self._lanes[-1]

    def call(self, *, batch: int = 3, attempt: int = 0) -> list[tuple[int, int, bytes]]:
        request = {"batch": batch, "wave": 0, "attempt": attempt}
        return lane_client.call("run", 0, os.getpid(), PROGRAM, request)

    def error(self, **request: int) -> MillstreamError:
        with pytest.raises(StreamsError) as caught:
            self.call(**request)
        return of_spark(caught.value.primary)

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()


@pytest.fixture
def run(short_tempdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setattr(waiting, "_END_SECONDS", 0.0)  # nobody notes how a stand-in ended
    made = Run()
    yield made
    made.close()


def rows(message: dict[str, Any]) -> dict[str, Any]:
    return {"ok": True} if "program" in message else {"rows": ROWS}


def test_a_lane_that_knows_the_program_is_just_asked(run: Run) -> None:
    lane = run.lane(rows)
    assert [tuple(row) for row in run.call()] == ROWS
    assert lane.messages == [{"batch": 3, "wave": 0, "attempt": 0}]


def test_a_lane_that_asks_for_the_program_gets_it(run: Run) -> None:
    known: list[bytes] = []

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        if "program" in message:
            known.append(message["program"])
            return {"ok": True}
        return {"rows": ROWS} if known else {"need_program": True}

    lane = run.lane(answer)
    assert [tuple(row) for row in run.call()] == ROWS
    assert known == [PROGRAM]
    assert len(lane.messages) == 3


def test_a_lane_that_cannot_read_the_program_is_not_asked_to_run_it(run: Run) -> None:
    failed = described(StreamsError("module rules is missing"))
    lane = run.lane(lambda message: {"error": failed} if "program" in message else {"need_program": True})
    assert run.error().primary == "module rules is missing"
    assert len(lane.messages) == 2


def test_an_error_of_a_lane_is_the_callers(run: Run) -> None:
    failed = ProcessingError("a function failed", detail="at a record", hint="mend it")
    lane = run.lane(lambda message: {"error": described(failed)})
    error = run.error()
    assert isinstance(error, ProcessingError)
    assert str(error) == str(failed)
    assert str(run.error(attempt=1)) == str(error)
    assert len(lane.messages) == 1  # it would be the same


def test_a_lane_that_dies_is_asked_again_as_another_attempt(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    lane = run.lane(lambda message: {"rows": ROWS} if message["attempt"] else None)
    with caplog.at_level(logging.WARNING):
        assert [tuple(row) for row in run.call()] == ROWS
    assert [message["attempt"] for message in lane.messages] == [0, 1]
    assert [record.getMessage().split(". ")[0] for record in caplog.records] == ["lane 0 died; it is started again"]


def test_a_lane_that_dies_each_time_is_given_up(run: Run) -> None:
    lane = run.lane(lambda message: None)
    error = run.error()
    assert error.primary == "lane 0 died"
    assert "3 times at batch 3" in str(error.detail)
    assert [message["attempt"] for message in lane.messages] == [0, 1, 2]
    assert run.error(attempt=1).primary == error.primary
    assert len(lane.messages) == 3


def test_nothing_is_sent_to_who_does_not_know_the_secret(run: Run) -> None:
    lane = run.lane(rows, secret=b"another run's")
    assert "lane 0 died" in run.error().primary  # that one shuts us out first, each time
    assert lane.messages == []


def test_a_process_that_does_not_start_is_told_with_what_it_said(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such module\nexit 1\n")
    broken.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(broken))
    error = run.error()
    assert error.primary == "lane 0 did not start"
    assert error.detail == "no such module"


def test_lanes_are_warmed_up_with_the_program_and_failures_are_left_to_the_first_batch(run: Run) -> None:
    lanes = [run.lane(rows), run.lane(lambda message: None, index=1)]
    lane_client.warm_up("run", 2, os.getpid(), PROGRAM)
    wait_until(lambda: all(lane.messages for lane in lanes), "the program to be sent", 60)
    assert [lane.messages for lane in lanes] == [[{"program": PROGRAM}]] * 2
