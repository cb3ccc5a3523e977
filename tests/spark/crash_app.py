"""The application of the crash tests, a process of its own so that it can be killed.

python crash_app.py BOOTSTRAP DIRECTORY MASTER rocksdb|memory MAX-BATCH-RECORDS micro_batch|continuous

It counts visits by user, by tasks that do nothing else, and clicks by user and by user and minute, and joins clicks
with buys by their id, which is not their key. All with caching off, so that every single count is a record.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

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

APPLICATION = "crashing"
VISITS, CLICKS, BUYS = "visits", "clicks", "buys"
VISIT_COUNTS, COUNTS, MINUTES, PAIRS = "visit-counts", "counts", "minutes", "pairs"
ALWAYS = timedelta(days=1)


def topology() -> Topology:
    """Counts, windowed counts, and a join across a re-key."""
    builder = StreamsBuilder()
    texts = Consumed(Serdes.string, Serdes.string)
    visits = builder.stream(VISITS, texts)
    clicks = builder.stream(CLICKS, texts)
    buys = builder.stream(BUYS, texts)
    by_user = clicks.group_by_key(Grouped(Serdes.string, Serdes.string))
    numbers = Produced(Serdes.string, Serdes.long)
    visits_by_user = visits.group_by_key(Grouped(Serdes.string, Serdes.string))
    visits_by_user.count(materialized=Materialized("visits")).to_stream().to(VISIT_COUNTS, numbers)
    by_user.count(materialized=Materialized("by-user")).to_stream().to(COUNTS, numbers)
    minutes = by_user.windowed_by(TimeWindows.of_size(timedelta(minutes=1), grace=ALWAYS))
    (
        minutes.count(materialized=Materialized("by-minute"))
        .to_stream()
        .select_key(lambda window, count: f"{window.key}@{window.window.start}")
        .to(MINUTES, numbers)
    )
    (
        clicks.select_key(lambda user, number: number)
        .join(
            buys.select_key(lambda user, number: number),
            lambda click, buy: f"{click}+{buy}",
            JoinWindows.of_time_difference(timedelta(hours=1), grace=ALWAYS),
            StreamJoined(Serdes.string, Serdes.string, Serdes.string, name="match", store_name="match"),
        )
        .to(PAIRS, Produced(Serdes.string, Serdes.string))
    )
    return builder.build()


def configuration(
    bootstrap: str,
    directory: Path,
    master: str,
    stores: str,
    max_batch_records: int = 1_000,
) -> StreamsConfig:
    """Exactly once, every update, small batches."""
    return StreamsConfig(
        application_id=APPLICATION,
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        statestore_cache_max_bytes=0,
        master=master,
        checkpoint_location=directory / "checkpoint",
        state_dir=directory / "state",
        dsl_store="rocksdb" if stores == "rocksdb" else "in_memory",
        max_batch_records=max_batch_records,
    )


def main() -> None:
    """Run until SIGTERM."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    bootstrap, directory, master, stores, records, mode = sys.argv[1:]
    config = replace(
        configuration(bootstrap, Path(directory), master, stores, int(records)),
        processing_mode=mode,  # type: ignore[arg-type]  # checked there
    )
    with KafkaStreams(topology(), config) as streams:
        print("running", flush=True)
        streams.wait()
    print("closed", flush=True)


if __name__ == "__main__":
    main()
