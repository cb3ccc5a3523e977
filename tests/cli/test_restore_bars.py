"""Bars for tasks that are restored."""

from __future__ import annotations

import io
import logging
import threading

import pytest
from rich.console import Console

from millstream.cli import progress
from millstream.cli.progress import Now, Teller, watch
from millstream.cli.restore_bars import restore_bars
from millstream.hosting.restoring import LOGGER

RESTORING = "%s: restoring from Kafka, %d %% (%s records, %s per second, %d s left)"
TOTALS = {"process-total": 0.0, "records-lag": 0.0, "dropped-records-total": 0.0}


def shown(bars: object) -> list[str]:
    console = Console(file=io.StringIO(), width=120, color_system=None)
    console.print(bars)
    return str(console.file.getvalue()).splitlines()  # type: ignore[attr-defined]


def test_a_bar_for_each_task_until_it_is_there(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger(LOGGER)
    with restore_bars() as bars:
        log.warning(RESTORING, "task 0_1", 41, "823,000", "412,000", 2)
        log.warning(RESTORING, "task 0_0", 7, "100", "50", 30)
        log.warning("something else")
        first, second = (line.rstrip() for line in shown(bars.bars()))
        assert first.startswith("restoring task 0_0")
        assert first.endswith("7 % 100 records, 50 per second, 30 s left")
        assert second.startswith("restoring task 0_1")
        assert second.count("\u2501") > first.count("\u2501")
        log.warning("task 0_1: restored 2,000,000 records from Kafka in 4.9 s")
        assert len(shown(bars.bars())) == 1
    assert caplog.text == ""
    log.warning("task 0_1: restored 7 records from Kafka in 4.9 s")
    assert "restored 7" in caplog.text


def test_they_are_part_of_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_REFRESH_SECONDS", 0.001)
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    left = [Now("rebalancing", TOTALS)] * 3

    def now() -> Now | None:
        logging.getLogger(LOGGER).warning(RESTORING, "task 0_1", 41, "823,000", "412,000", 2)
        return left.pop() if left else None

    watch(Teller(console), threading.Event(), now)
    output = str(console.file.getvalue())  # type: ignore[attr-defined]
    assert "restoring task 0_1" in output
    assert "823,000 records" in output
