"""An application that is to be stopped by a signal: python signalled_app.py BOOTSTRAP DIRECTORY TOPIC."""

from __future__ import annotations

import sys
from pathlib import Path

from millstream import Consumed, KafkaStreams, Serdes, StreamsBuilder, StreamsConfig


def main() -> None:
    """Run until a signal."""
    bootstrap, directory, topic = sys.argv[1:]
    builder = StreamsBuilder()
    builder.stream(topic, Consumed(Serdes.string, Serdes.string)).filter(lambda key, value: False).to(topic)
    config = StreamsConfig(
        application_id=f"app-{topic}",
        bootstrap_servers=bootstrap,
        checkpoint_location=Path(directory) / "checkpoint",
        state_dir=Path(directory) / "state",
    )
    print("starting", flush=True)
    with KafkaStreams(builder.build(), config) as streams:
        print("running", flush=True)
        streams.wait()
    print("closed", flush=True)


if __name__ == "__main__":
    main()
