"""What a lane tells of itself while it works for long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millstream import Consumed, Serdes, StreamsBuilder
from millstream.hosting.range_consumer import RangeConsumer
from millstream.spark.calls import pulse
from millstream.spark.calls.pulse import PulseTaker, last_pulse
from millstream.testing import TopologyTestDriver


class _Gate:
    """Where a function waits until it may go on; the test knows when it waits."""

    def __init__(self) -> None:
        self._arrived, self._open = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self, *_: Any) -> bool:
        self._arrived.release()
        assert self._open.acquire(timeout=60)
        return True

    def see(self) -> None:
        assert self._arrived.acquire(timeout=60)

    def open(self) -> None:
        self._open.release()


@pytest.fixture
def taker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PulseTaker:
    monkeypatch.setattr(pulse, "_SOON_SECONDS", 0.0)
    return PulseTaker(tmp_path / "lane-0")


@contextmanager
def _working(taker: PulseTaker, work: Callable[[], object]) -> Iterator[None]:
    """A thread that stands for the main thread of a lane."""
    thread = threading.Thread(target=work)
    thread.start()
    taker._main = thread.ident or 0
    taker.begin("batch 17")
    yield
    thread.join()


def _seen(taker: PulseTaker, tmp_path: Path) -> pulse.Pulse:
    taker.take()
    found = last_pulse(tmp_path / "lane-0")
    assert found is not None
    return found


def test_a_lane_at_one_record_stands_still_and_one_at_the_next_gets_on(taker: PulseTaker, tmp_path: Path) -> None:
    gate = _Gate()
    builder = StreamsBuilder()
    builder.stream("in", Consumed(Serdes.string, Serdes.string)).filter(gate.wait).to("out")
    with TopologyTestDriver(builder.build()) as driver:
        records = [(b"k", b"v", 0, None, n) for n in range(3)]
        task = driver._task

        def work() -> None:
            task.add_records("in", 0, records)
            task.process_all()

        with _working(taker, work):
            for _ in records:
                gate.see()
                assert _seen(taker, tmp_path).still == 0
                second = _seen(taker, tmp_path)
                assert second.still > 0
                assert not second.host
                assert second.doing == "batch 17"
                assert ", in wait\n" in second.stack
                gate.open()


def test_one_that_waits_for_the_broker_never_stands_still(taker: PulseTaker, tmp_path: Path) -> None:
    gate = _Gate()

    class Away:
        def consume(self, *_: Any) -> list[Any]:
            gate.wait()
            return []

    inputs = RangeConsumer.__new__(RangeConsumer)
    inputs._consumer = Away()  # type: ignore[assignment]
    inputs.begun = inputs._topic = None
    with _working(taker, lambda: inputs._fetch(1, 0.0)):
        gate.see()
        assert [(_seen(taker, tmp_path).host, _seen(taker, tmp_path).still) for _ in range(3)] == [(True, 0.0)] * 3
        gate.open()


def test_nothing_is_told_of_what_is_done_soon_or_over(taker: PulseTaker, tmp_path: Path) -> None:
    taker.take()
    taker.begin("batch 1")
    taker.end_request()
    taker.take()
    assert last_pulse(tmp_path / "lane-0") is None
    assert 0 < taker._usual < 5
