"""How a lane's process answers: what it is asked, by whom, and what is left of it after an error."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millstream.errors import ProcessingError, StreamsError
from millstream.hosting.producing.transactions import ProducerStuck
from millstream.spark.calls.frames import receive, send
from millstream.spark.calls.handshake import greet_lane
from millstream.spark.calls.label import Label, labelled
from millstream.spark.calls.onlookers import Onlookers
from millstream.spark.calls.pulse import PulseTaker
from millstream.spark.exchange.handover import Handover
from millstream.spark.exchange.parcels import Parcel, pack, unpack
from millstream.spark.lanes import server
from millstream.spark.lanes.lane import Lane, WaveRequest
from millstream.spark.state.statefiles import Version

SECRET = b"s" * 32
PROGRAM = {"program": labelled(Label(SECRET, "0", 60.0, {}), b"the program")}
REQUEST = {
    "batch": 7,
    "wave": 0,
    "now": 5_000,
    "attempt": 1,
    "ranges": [["in", 0, 3, 9]],
    "globals": [["table", 0, 4]],
    "parcels": [pack(Parcel(1, 7, 5_000, []))],
    "guaranteed": [["in", 0, 12]],
    "content": "content",
    "membership": b"member",
}


class StandIn(Lane):
    """Answers as a lane would."""

    def __init__(self) -> None:
        self.prepared = 0
        self.closed = False
        self.asked: list[WaveRequest] = []
        self.answer: list[tuple[int, Parcel]] = [(1, Parcel(1, 7, 5_000, [])), (0, Parcel(-1, 7, 5_000, []))]
        self.error: BaseException | None = None
        self.unprepared: Exception | None = None

    def prepare(self) -> None:
        self.prepared += 1
        if self.unprepared is not None:
            raise self.unprepared

    def run(self, request: WaveRequest) -> list[tuple[int, Parcel]]:
        self.asked.append(request)
        if self.error is not None:
            raise self.error
        return self.answer

    def close(self) -> None:
        self.closed = True


class Process:
    """A lane's process without a process: conversations with it, one after the other."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.programs: list[bytes] = []
        #: The lanes that it makes, the next one last.
        self.lanes = [StandIn()]
        #: What is left after a conversation.
        self.left: Lane | None = None
        self._handover = Handover(directory, 0)
        self._pulse = PulseTaker(directory / "lane-0")
        monkeypatch.setattr(server, "unpacked", lambda data: self.programs.append(bytes(data)))
        monkeypatch.setattr(server, "Lane", lambda program, index: self.lanes[-1])

    @contextlib.contextmanager
    def connected(self, secret: bytes = SECRET) -> Iterator[socket.socket]:
        """Talk to it; afterwards it is through with the conversation."""
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        thread = threading.Thread(target=self._converse, args=(its,))
        thread.start()
        try:
            with mine:
                mine.settimeout(60)
                with contextlib.suppress(ConnectionError):  # a stranger is only shut out
                    greet_lane(mine, secret)
                yield mine
        finally:
            thread.join(60)
        assert not thread.is_alive()

    def _converse(self, connection: socket.socket) -> None:
        with connection:
            self.left = server._converse(connection, SECRET, self.left, 0, self._handover, self._pulse)


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(tmp_path, monkeypatch)


def ask(connection: socket.socket, message: dict[str, Any]) -> Any:
    send(connection, message)
    return receive(connection)


# --- conversations


def test_a_request_is_answered_once_the_program_is_known(process: Process) -> None:
    with process.connected() as client:
        assert ask(client, REQUEST) == {"need_program": True}
        assert ask(client, PROGRAM) == {"ok": True}
        answer = ask(client, REQUEST)
    assert [(lane, wave, unpack(parcel)) for lane, wave, parcel in answer["rows"]] == [
        (lane, parcel.wave, parcel) for lane, parcel in process.lanes[0].answer
    ]
    assert process.programs == [PROGRAM["program"]]
    assert process.lanes[0].asked == [
        WaveRequest(
            Version(7, 0), 5_000, 1, {("in", 0): (3, 9)}, {("table", 0): 4}, [Parcel(1, 7, 5_000, [])],
            {("in", 0): 12}, "content", b"member",
        )
    ]  # fmt: skip


def test_the_lane_stays_from_one_conversation_to_the_next(process: Process) -> None:
    for _ in range(2):
        with process.connected() as client:
            assert ask(client, PROGRAM) == {"ok": True}
            assert "rows" in ask(client, REQUEST)
    assert process.left is process.lanes[0]
    assert process.lanes[0].prepared == 1
    assert not process.lanes[0].closed


def test_a_preparation_that_fails_is_met_again_by_the_first_batch(process: Process) -> None:
    process.lanes[0].unprepared = StreamsError("no broker answers")
    with process.connected() as client:
        assert ask(client, PROGRAM) == {"ok": True}
        assert "rows" in ask(client, REQUEST)


def test_a_program_that_cannot_be_read_here_is_told_and_asked_for_again(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def fail(data: bytes) -> None:
            raise StreamsError("module rules is missing")

        patched.setattr(server, "unpacked", fail)
        with process.connected() as client:
            assert ask(client, PROGRAM)["error"]["primary"] == "module rules is missing"
            assert ask(client, REQUEST) == {"need_program": True}
    with process.connected() as client:
        assert ask(client, PROGRAM) == {"ok": True}
        assert "rows" in ask(client, REQUEST)


@pytest.mark.parametrize(
    ("error", "name", "primary"),
    [
        (ProcessingError("a function failed", hint="mend it"), "ProcessingError", "a function failed"),
        (KeyError("price"), "KeyError", "KeyError: 'price'"),
    ],
)
def test_after_an_error_everything_is_read_again(process: Process, error: Exception, name: str, primary: str) -> None:
    first = process.lanes[0]
    first.error = error
    with process.connected() as client:
        ask(client, PROGRAM)
        told = ask(client, REQUEST)["error"]
        assert first.closed  # before anybody is told
        assert (told["type"], told["primary"]) == (name, primary)
        assert ask(client, REQUEST) == {"need_program": True}
        process.lanes.append(StandIn())
        assert ask(client, PROGRAM) == {"ok": True}
        assert "rows" in ask(client, REQUEST)
    assert process.left is process.lanes[1]


def test_an_error_is_not_kept_because_nobody_hears_it(process: Process) -> None:
    process.lanes[0].error = ProcessingError("a function failed")
    with process.connected() as client:
        ask(client, PROGRAM)
        send(client, REQUEST)  # and be gone
    assert process.lanes[0].closed
    assert process.left is None


def test_a_lane_survives_a_client_that_dies_while_it_is_answered(process: Process) -> None:
    process.lanes[0].answer = [(0, Parcel(1, 7, 5_000, [], {"long": "x" * 10_000_000}))]
    process._handover = Handover(None, 0)  # not by file
    with process.connected() as client:
        ask(client, PROGRAM)
        send(client, REQUEST)
        assert client.recv(1)
    assert process.left is process.lanes[0]
    with process.connected() as client:
        assert len(ask(client, REQUEST)["rows"]) == 1


def test_a_stranger_is_shut_out_and_the_lane_goes_on(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    with process.connected() as client:
        ask(client, PROGRAM)
    with caplog.at_level(logging.WARNING), process.connected(b"guessed") as stranger:
        assert receive(stranger) is None
    assert "does not know the run's secret" in caplog.text
    assert process.left is process.lanes[0]
    assert process.lanes[0].asked == []


def test_who_says_nothing_does_not_keep_it_from_others(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_GREETING_SECONDS", 0.05)
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with mine:
        process._converse(its)
    with process.connected() as client:
        assert ask(client, REQUEST) == {"need_program": True}


def test_a_producer_that_hangs_ends_the_process(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []

    def end(code: int) -> None:
        codes.append(code)
        raise ConnectionError  # the process is gone, and so are its sockets

    monkeypatch.setattr(os, "_exit", end)
    process.lanes[0].error = ProducerStuck()
    with process.connected() as client:
        ask(client, PROGRAM)
        assert ask(client, REQUEST) is None
    assert codes == [1]


# --- as long as it is wanted


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "program").touch()
    path = tmp_path / "run" / "lane-0"
    path.touch()
    return path


def place(path: Path, driver: int | None = os.getpid(), executor: int | None = None) -> server._Place:
    return server._Place(str(path), driver, executor, PulseTaker(path), Onlookers(path))


def test_a_lane_whose_socket_is_gone_ends_and_leaves_the_rest(path: Path) -> None:
    mine = place(path)
    assert mine.is_wanted
    path.unlink()
    assert not mine.is_wanted
    mine.leave()
    assert [left.name for left in path.parent.iterdir()] == ["program"]


def test_a_lane_in_whose_place_another_was_started_leaves_that_alone(path: Path) -> None:
    mine = place(path)
    (path.parent / "new").touch()
    (path.parent / "new").replace(path)
    other = place(path)
    assert not mine.is_wanted
    assert other.is_wanted
    mine.leave()
    assert path.exists()
    other.leave()
    assert not path.exists()


def test_the_last_lane_of_a_run_that_is_over_leaves_nothing(path: Path) -> None:
    mine = place(path)
    (path.parent / "program").unlink()
    assert not mine.is_wanted
    mine.leave()
    assert not path.parent.exists()


def test_where_the_driver_is_on_another_machine_the_socket_alone_counts(path: Path) -> None:
    mine = place(path, driver=None)
    (path.parent / "program").unlink()
    assert mine.is_wanted


def test_where_the_driver_is_on_another_machine_a_lane_ends_with_its_executor_and_leaves_nothing(path: Path) -> None:
    (path.parent / "program").unlink()
    path.with_suffix(".log").touch()
    other = path.parent / "lane-1.log"
    other.touch()
    executor = subprocess.Popen(["/bin/sleep", "60"])
    mine = place(path, driver=None, executor=executor.pid)
    assert mine.is_wanted
    executor.kill()
    executor.wait()
    assert not mine.is_wanted
    mine.leave()
    assert list(path.parent.iterdir()) == [other]
    other.unlink()
    path.touch()
    place(path, driver=None).leave()
    assert not path.parent.exists()
