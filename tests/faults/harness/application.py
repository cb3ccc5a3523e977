"""The application of the fault runs, a process of its own so that it can be struck.

python application.py SETTINGS-AS-JSON

It counts visits by user, by tasks that do nothing else, and clicks by user and by user and minute, and joins clicks
with buys by their number, which is not their key. With caching off every single count is a record. Its functions raise
when a token lies in a directory, which they take away: the harness says so how often, not when.

It stands alone: what is defined here goes to lanes as it is.
"""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from millstream import (
    Consumed,
    Grouped,
    JoinWindows,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    StreamJoined,
    StreamsBuilder,
    StreamsConfig,
    TimeWindows,
    Topology,
)
from millstream.spark.life import UncaughtAction

ALWAYS = timedelta(days=1)
#: How often a record is one at which a function raises, while there are tokens.
CHANCE = 0.02
#: How long a function takes to raise if its token is a slow one, for something else to happen meanwhile.
SLOW_SECONDS = 1.5


def flaky(tokens: str) -> Callable[[Any], Any]:
    """A function that passes values on, and raises at random records while there are tokens."""

    def check(value: Any) -> Any:
        found = os.listdir(tokens)
        if found and random.random() < CHANCE:
            token = random.choice(found)
            if token.startswith("ahead") and not works_ahead():
                return value
            try:
                os.rename(f"{tokens}/{token}", f"{tokens}-spent/{token}")
            except FileNotFoundError:  # somebody else took it
                return value
            if token.startswith("slow"):
                time.sleep(SLOW_SECONDS)
            raise RuntimeError(f"this function is flaky ({token})")
        return value

    return check


def works_ahead() -> bool:
    """Whether a lane is at work here before it was asked to, see millstream/spark/lanes/ahead.py."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "millstream.spark.lanes.ahead":
            return True
        frame = frame.f_back
    return False


def topology(prefix: str, tokens: str) -> Topology:
    """Counts, windowed counts, and a join across a re-key."""
    builder = StreamsBuilder()
    texts = Consumed(Serdes.string, Serdes.string)
    check = flaky(tokens)
    visits = builder.stream(f"{prefix}visits", texts).map_values(check)
    clicks = builder.stream(f"{prefix}clicks", texts).map_values(check)
    buys = builder.stream(f"{prefix}buys", texts)
    numbers = Produced(Serdes.string, Serdes.long)
    grouped = Grouped(Serdes.string, Serdes.string)
    counted = visits.group_by_key(grouped).count(materialized=Materialized("visits")).to_stream()
    counted.map_values(check).to(f"{prefix}visit-counts", numbers)
    by_user = clicks.group_by_key(grouped)
    by_user.count(materialized=Materialized("by-user")).to_stream().to(f"{prefix}counts", numbers)
    (
        by_user.windowed_by(TimeWindows.of_size(timedelta(minutes=1), grace=ALWAYS))
        .count(materialized=Materialized("by-minute"))
        .to_stream()
        .select_key(lambda window, count: f"{window.key}@{window.window.start}")
        .to(f"{prefix}minutes", numbers)
    )
    (
        clicks.select_key(lambda user, number: number)
        .join(
            buys.select_key(lambda user, number: number),
            lambda click, buy: f"{click}+{buy}",
            JoinWindows.of_time_difference(timedelta(hours=1), grace=ALWAYS),
            StreamJoined(Serdes.string, Serdes.string, Serdes.string, name="match", store_name="match"),
        )
        .map_values(check)
        .to(f"{prefix}pairs", Produced(Serdes.string, Serdes.string))
    )
    return builder.build()


def main() -> None:
    """Run until SIGTERM, and say on standard output which state it is in."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("millstream").setLevel(logging.INFO)
    settings = json.loads(sys.argv[1])
    config = StreamsConfig(
        application_id=settings["application"],
        bootstrap_servers=settings["bootstrap"],
        processing_guarantee="exactly_once_v2",
        statestore_cache_max_bytes=10_000_000 if settings["caching"] else 0,
        commit_interval=timedelta(milliseconds=500) if settings["caching"] else None,
        master=settings["master"],
        checkpoint_location=Path(settings["checkpoint"]),
        state_dir=Path(settings["state"]),
        dsl_store="rocksdb" if settings["stores"] == "rocksdb" else "in_memory",
        max_batch_records=settings["max_batch_records"],
        processing_mode=settings["mode"],
        num_standby_replicas=settings["standbys"],
    )
    streams = KafkaStreams(topology(settings["prefix"], settings["tokens"]), config)
    streams.add_state_listener(lambda new, old: print(f"state {new.name}", flush=True))
    if settings["replace"]:
        streams.set_uncaught_exception_handler(lambda error: UncaughtAction.REPLACE_THREAD)
    with streams:
        streams.wait()
    print("closed", flush=True)


if __name__ == "__main__":
    main()
