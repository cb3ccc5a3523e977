"""What `millstream run` and `sql` tell while applications run: a live line in a terminal, or lines in a log."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from millstream.cli.restore_bars import restore_bars

_REFRESH_SECONDS = 0.5
_LINE_SECONDS = 5.0

_LOG = logging.getLogger("millstream.progress")


@dataclass(frozen=True)
class Now:
    """What applications do at a moment.

    Args:
        state: in one word.
        totals: as `KafkaStreams.metrics()` or `Ksql.metrics()` has them, of all applications or queries together.
    """

    state: str
    totals: dict[str, float]


class Teller:
    """Tells people what happens: on a terminal as it is, elsewhere as log lines, so that they have times and a format.

    Args:
        console: where people look.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        _LOG.setLevel(logging.INFO)  # the root logger shows warnings only

    def tell(self, text: str) -> None:
        """Say something."""
        if self.console.is_terminal:
            self.console.print(text, markup=False)
        else:
            _LOG.info("%s", text)


def watch(teller: Teller, stop: threading.Event, now: Callable[[], Now | None], *, quiet: bool = False) -> None:
    """Tell what happens until it ends or is to stop.

    Args:
        teller: tells it.
        stop: ends it.
        now: what happens; None when it has ended.
        quiet: tell nothing.
    """
    if quiet:
        while not stop.is_set() and now() is not None:
            stop.wait(_REFRESH_SECONDS)
    elif teller.console.is_terminal:
        _live(teller.console, stop, now)
    else:
        _lines(stop, now)


def _live(console: Console, stop: threading.Event, now: Callable[[], Now | None]) -> None:
    rate = Rate()
    with restore_bars() as bars, Live(Text(""), console=console, transient=True, auto_refresh=False) as display:
        while not stop.wait(_REFRESH_SECONDS) and (found := now()) is not None:
            display.update(Group(bars.bars(), status_line(found, rate(found))), refresh=True)


def _lines(stop: threading.Event, now: Callable[[], Now | None]) -> None:
    """A line every few seconds, if it says something new: an idle application fills no log."""
    rate, said, due = Rate(), "", time.monotonic() + _LINE_SECONDS
    while not stop.wait(_REFRESH_SECONDS) and (found := now()) is not None:
        if time.monotonic() < due:
            continue
        due = time.monotonic() + _LINE_SECONDS
        line = progress_line(found, rate(found))
        if line != said:
            _LOG.info("%s", line)
            said = line


class Rate:
    """Records per second since it was asked last."""

    def __init__(self) -> None:
        self._records, self._since = 0.0, time.monotonic()

    def __call__(self, found: Now) -> float:
        records, now = found.totals["process-total"], time.monotonic()
        rate = (records - self._records) / max(now - self._since, 1e-9)
        self._records, self._since = records, now
        return rate


def progress_line(now: Now, rate: float) -> str:
    """One line for a log.

    >>> totals = {"process-total": 1200, "records-lag": 7, "state-bytes": 2_500_000, "dropped-records-total": 0}
    >>> progress_line(Now("running", totals), 250.4)
    'running: 1,200 records, 250 records/s, lag 7, state 2.5 MB'
    """
    totals = now.totals
    dropped = f", dropped {totals['dropped-records-total']:,.0f}" if totals["dropped-records-total"] else ""
    state = f", state {totals['state-bytes'] / 1e6:,.1f} MB" if "state-bytes" in totals else ""
    return (
        f"{now.state}: {totals['process-total']:,.0f} records, {rate:,.0f} records/s, "
        f"lag {totals['records-lag']:,.0f}{state}{dropped}"
    )


def closing_line(totals: Mapping[str, float]) -> str:
    """What an application did, once it has stopped.

    >>> closing_line({"process-total": 1200, "commit-total": 1, "records-produced-total": 7})
    'stopped after 1,200 records in 1 commit, 7 written'
    """
    records, commits = totals["process-total"], totals["commit-total"]
    one, several = ("batch", "batches") if "batch-seconds" in totals else ("commit", "commits")
    return (
        f"stopped after {records:,.0f} record{'' if records == 1 else 's'} in {commits:,.0f} "
        f"{one if commits == 1 else several}, {totals['records-produced-total']:,.0f} written"
    )


def status_line(now: Now, rate: float) -> Text:
    """One line for a terminal, with its numbers always in the same columns."""
    totals = now.totals
    batch = f"   batch {totals['batch-seconds'] * 1000:>6,.0f} ms" if "batch-seconds" in totals else ""
    state = f"   state {totals['state-bytes'] / 1e6:>8,.1f} MB" if "state-bytes" in totals else ""
    return Text.assemble(
        (f"{now.state:<12}", "bold green" if now.state == "running" else "bold yellow"),
        f"{rate:>12,.0f} records/s   lag {totals['records-lag']:>10,.0f}",
        batch + state,
        f"   dropped {totals['dropped-records-total']:,.0f}",
    )
