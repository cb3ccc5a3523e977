"""State that is larger than the memory it may take: a count of millions of keys on RocksDB, on Spark, exactly once.

.venv/bin/python bench/large_state.py [--keys N] [--limit-mb N]

Every key comes once, then a tenth of them again. Prints what each lane's process took, and fails above the limit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from millstream import Consumed, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig
from millstream.kafka.broker import DevBroker

sys.path.insert(0, str(Path(__file__).parent))

from data import Record, create_topics, end_offsets, produce

_BATCH = 200_000


def keys(count: int) -> Iterator[Record]:
    """All keys once, then every tenth again; 100 bytes per record."""
    value = b"x" * 80
    for number in range(count):
        yield Record(b"key-%012d" % number, value, 1_750_000_020_000 + number // 100, -1)
    for number in range(0, count, 10):
        yield Record(b"key-%012d" % number, value, 1_750_000_020_000 + (count + number) // 100, -1)


def lane_memory() -> dict[int, float]:
    """Megabytes of each lane's process."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"millstream.spark.lanes.server" in (entry / "cmdline").read_bytes():
                pages = int((entry / "statm").read_text().split()[1])
                found[int(entry.name)] = pages * 4096 / 1e6
        except OSError:  # it ended meanwhile
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--limit-mb", type=float, default=700.0)
    arguments = parser.parse_args()
    builder = StreamsBuilder()
    (
        builder.stream("keys", Consumed(Serdes.string, Serdes.bytes))
        .group_by_key()
        .count(Materialized("counts", caching=False))
        .to_stream()
        .filter(lambda key, count: count > 1)
        .to("repeated", Produced(Serdes.string, Serdes.long))
    )
    with DevBroker() as broker, tempfile.TemporaryDirectory() as directory:
        create_topics(broker.bootstrap_servers, "keys", "repeated")
        records = produce(broker.bootstrap_servers, "keys", keys(arguments.keys))
        config = StreamsConfig(
            application_id="large-state",
            bootstrap_servers=broker.bootstrap_servers,
            processing_guarantee="exactly_once_v2",
            processing_mode="micro_batch",
            num_stream_threads=2,
            state_dir=directory,
            checkpoint_location=f"{directory}/checkpoint",
            max_batch_records=_BATCH,
        )
        peak: dict[int, float] = {}
        started = time.monotonic()
        with KafkaStreams(builder.build(), config) as streams:
            while (done := streams.metrics()["records-consumed-total"]) < records:
                if streams.failure is not None:
                    raise streams.failure
                for process, megabytes in lane_memory().items():
                    peak[process] = max(peak.get(process, 0.0), megabytes)
                print(
                    f"\r{done:,.0f} of {records:,} records, lanes at most {max(peak.values(), default=0):.0f} MB ",
                    end="",
                )
                time.sleep(0.5)
        seconds = time.monotonic() - started
        found = sum(end_offsets(broker.bootstrap_servers, "repeated"))
    print(f"\n{records:,} records of {arguments.keys:,} keys in {seconds:.0f} s; peak of each lane: {peak}")
    if found < arguments.keys // 10:
        sys.exit(f"{found} repeated keys found, {arguments.keys // 10} expected")
    if max(peak.values()) > arguments.limit_mb:
        sys.exit(f"a lane took more than {arguments.limit_mb} MB")


if __name__ == "__main__":
    main()
