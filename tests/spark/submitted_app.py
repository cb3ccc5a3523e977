"""A plain script for spark-submit: says where Spark is neither in its configuration nor otherwise.

submitted_app.py BOOTSTRAP DIRECTORY INPUT OUTPUT

It shouts what it reads, with a function of a module that only `--py-files` brings to executors, and counts it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from millstream import Consumed, Grouped, KafkaStreams, Produced, Serdes, StreamsBuilder, StreamsConfig


def main() -> None:
    """Run until it is ended."""
    from shouting import shout  # type: ignore[import-not-found]  # comes with --py-files

    bootstrap, directory, read, written = sys.argv[1:]
    builder = StreamsBuilder()
    (
        builder.stream(read, Consumed(Serdes.string, Serdes.string))
        .group_by(lambda key, value: shout(value), Grouped(Serdes.string, Serdes.string))
        .count()
        .to_stream()
        .to(written, Produced(Serdes.string, Serdes.long))
    )
    config = StreamsConfig(
        application_id=Path(directory).name,
        bootstrap_servers=bootstrap,
        checkpoint_location=Path(directory) / "checkpoint",
        statestore_cache_max_bytes=0,
    )
    with KafkaStreams(builder.build(), config) as streams:
        streams.wait()


if __name__ == "__main__":
    main()
