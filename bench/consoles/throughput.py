"""What an application pays for a console that is open.

One application goes through a backlog. In turns, each of some seconds, it is left alone, a small process asks what the
pages of overview and topology ask, and a real browser shows the topology. Records and CPU time are taken from one
commit to another, so that turns of one run are compared, and the median of several.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.console.browser import Browser, missing

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.console.application.console import ApplicationConsole
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic
from millstream.server.settings import ServerSettings

from .filling import fill
from .processes import APPLICATION, cpu_seconds

ALONE, ASKED, BROWSED = "alone", "asked", "in Chromium"
_NAME, _LANES = "watched", 2
#: A turn begins when what was before it is over (lanes look on for some seconds), and takes at least so long.
_SETTLE_SECONDS, _TURN_SECONDS = 5.0, 5.0
_START_SECONDS = 180.0
#: Commits until batches have found their size.
_WARM_UP = 5


@dataclass(frozen=True)
class Turn:
    """What was done from one commit to another, and what it took."""

    records: float
    seconds: float
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        return self.records / self.seconds

    def cpu_per_million(self, *kinds: str) -> float:
        return sum(self.cpu.get(kind, 0.0) for kind in kinds) / self.records * 1e6


def measure_throughput(bootstrap: str, directory: Path, records: int, rounds: int) -> None:
    """Print what was measured."""
    with closing(Admin(StreamsConfig(bootstrap_servers=bootstrap))) as admin:
        admin.create_topics([NewTopic("backlog", _LANES, {}), NewTopic("counted", 1, {})])
    fill(bootstrap, "backlog", records)
    streams = _application(bootstrap, directory)
    turns: dict[str, list[Turn]] = {ALONE: [], ASKED: [], **({} if missing() else {BROWSED: []})}
    with streams, suppress(BacklogOver):
        for _ in range(_WARM_UP):
            _next_commit(streams)
        for number in range(rounds):
            names = list(turns)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                with _looking(streams, name, directory / f"chromium-{number}"):
                    turns[name].append(turn := _turn(streams))
                print(f"{name:<12} {turn.rate:>9,.0f} records per second", flush=True)
    _tell(turns)


def _application(bootstrap: str, directory: Path) -> KafkaStreams:
    builder = StreamsBuilder()
    orders = builder.stream("backlog", Consumed(Serdes.string, Serdes.json)).filter(
        lambda _, order: order["AMOUNT"] > 3
    )
    counted = (
        orders.map_values(_scored)
        .group_by_key(Grouped(Serdes.string, Serdes.json))
        .count(materialized=Materialized("counts"))
    )
    counted.to_stream().to("counted", Produced(Serdes.string, Serdes.long))
    config = StreamsConfig(
        application_id=_NAME,
        bootstrap_servers=bootstrap,
        num_stream_threads=_LANES,
        state_dir=directory / "state",
    )
    return KafkaStreams(builder.build(), config, server=ServerSettings(), around=ApplicationConsole)


def _scored(order: dict[str, Any]) -> dict[str, Any]:
    """The user's own work: some microseconds, so that a backlog lasts for all turns."""
    return {**order, "SCORE": sum(number * number for number in range(order["AMOUNT"] + 200)) % 97}


@contextmanager
def _looking(streams: KafkaStreams, who: str, profile: Path) -> Iterator[None]:
    """Somebody has the console open, or nobody."""
    if who == ASKED:
        address = urlsplit(str(streams.url))
        paths = (f"/console/api/topology/{_NAME}", "/console/api/overview")
        script = str(Path(__file__).parent / "asking.py")
        command = [sys.executable, script, str(address.hostname), str(address.port), *paths]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as asking:  # noqa: S603 - it is ours
            yield
            assert asking.poll() is None, "who asks was refused"
            asking.communicate()  # which ends its input, and so itself
    elif who == BROWSED:
        browser = Browser(str(streams.url), profile)
        try:
            browser.open("topology")
            browser.one("[data-node] + .figures")
            yield
        finally:
            browser.driver.quit()
    else:
        yield


class BacklogOver(Exception):
    """There is nothing left to process, and so nothing to measure."""


class Commit(NamedTuple):
    """When a commit was seen, the records by then, and the CPU seconds."""

    at: float
    records: float
    cpu: dict[str, float]


def _turn(streams: KafkaStreams) -> Turn:
    time.sleep(_SETTLE_SECONDS)
    begun = ended = _next_commit(streams)
    while ended.at < begun.at + _TURN_SECONDS:
        ended = _next_commit(streams)
    return Turn(
        ended.records - begun.records,
        ended.at - begun.at,
        {kind: total - begun.cpu.get(kind, 0.0) for kind, total in ended.cpu.items()},
    )


def _next_commit(streams: KafkaStreams) -> Commit:
    before, deadline = streams.metrics()["commit-total"], time.monotonic() + _START_SECONDS
    while (found := streams.metrics())["commit-total"] == before:
        if before and not found["records-lag"]:
            raise BacklogOver
        assert time.monotonic() < deadline, "it does not get on"
        time.sleep(0.01)
    return Commit(time.monotonic(), found["records-consumed-total"], cpu_seconds())


def _tell(turns: dict[str, list[Turn]]) -> None:
    kinds = sorted({kind for found in turns.values() for turn in found for kind in turn.cpu})
    print("CPU seconds per million records, medians; in brackets, of each second:")
    for who, found in turns.items():
        shown = (
            f"{kind} {statistics.median(turn.cpu_per_million(kind) for turn in found):.2f}"
            f" ({statistics.median(turn.cpu.get(kind, 0.0) / turn.seconds for turn in found):.2f})"
            for kind in kinds
        )
        print(f"{who:<12}", ", ".join(shown))
    for who in list(turns)[1:]:
        rates, taken = _ratios(turns[who], turns[ALONE])
        print(
            f"{who}: {_spread(rates)} of the throughput alone, "
            f"{_spread(taken)} times the CPU of the application and its broker for a record"
        )


def _ratios(looked: list[Turn], alone: list[Turn]) -> tuple[list[float], list[float]]:
    """Of each round, the throughput and the CPU time per record beside those alone."""
    pairs = list(zip(looked, alone, strict=False))  # the backlog may have ended in the middle of a round
    return (
        [one.rate / other.rate for one, other in pairs],
        [one.cpu_per_million(*APPLICATION) / other.cpu_per_million(*APPLICATION) for one, other in pairs],
    )


def _spread(found: list[float]) -> str:
    return f"{statistics.median(found):.3f} ({min(found):.3f} to {max(found):.3f})"
