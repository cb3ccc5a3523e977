"""Counts words by their line's key and by themselves, in two waves of many batches; says in the end what that took.

python steady_app.py BOOTSTRAP MASTER CHECKPOINT INPUT OUTPUT BATCH-RECORDS
"""

from __future__ import annotations

import json
import logging
import sys

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig


def main() -> None:
    """Run until everything that is there is processed."""
    logging.basicConfig(level=logging.WARNING)
    bootstrap, master, checkpoint, source, target, batch_records = sys.argv[1:]
    builder = StreamsBuilder()
    texts, longs = Grouped(Serdes.string, Serdes.string), Produced(Serdes.string, Serdes.long)
    words = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    words.group_by_key(texts).count(Materialized("by-key")).to_stream().to(target, longs)
    words.group_by(lambda _, word: word, texts).count(Materialized("by-word")).to_stream().to(target, longs)
    config = StreamsConfig(
        application_id=f"steady-{source}",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        statestore_cache_max_bytes=0,
        max_batch_records=int(batch_records),
        checkpoint_location=checkpoint,
        master=master,
    )
    streams = KafkaStreams(builder.build(), config)
    streams.start(once=True)
    streams.wait()
    print(json.dumps(streams.metrics()))


if __name__ == "__main__":
    main()
