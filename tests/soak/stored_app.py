"""Counts words exactly once, with its checkpoint on a store: a process of its own, so that it can be killed.

python stored_app.py BOOTSTRAP INPUT OUTPUT LOCATION STATE-DIRECTORY; the settings of the store are properties of Spark
in JSON, in the variable STORE_PROPERTIES.
"""

from __future__ import annotations

import json
import logging
import os
import sys

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Produced, Serdes, StreamsBuilder, StreamsConfig


def main() -> None:
    """Run until it is ended."""
    logging.basicConfig(level=logging.WARNING)
    bootstrap, source, target, location, state = sys.argv[1:]
    builder = StreamsBuilder()
    words = builder.stream(source, Consumed(Serdes.string, Serdes.string))
    counts = words.group_by(lambda _, word: word, Grouped(Serdes.string, Serdes.string)).count(Materialized("counts"))
    counts.to_stream().to(target, Produced(Serdes.string, Serdes.long))
    config = StreamsConfig(
        application_id=f"stored-{source}",
        bootstrap_servers=bootstrap,
        processing_guarantee="exactly_once_v2",
        processing_mode="micro_batch",
        statestore_cache_max_bytes=0,
        num_stream_threads=2,
        max_batch_records=100,
        checkpoint_location=location,
        state_dir=state,
        spark=json.loads(os.environ["STORE_PROPERTIES"]),
    )
    with KafkaStreams(builder.build(), config) as streams:
        streams.wait()


if __name__ == "__main__":
    main()
