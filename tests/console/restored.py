"""An application that loses its checkpoint: it runs once, and then again, rebuilt from its changelog.

python -m tests.console.restored BOOTSTRAP_SERVERS DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from millstream import Consumed, Grouped, KafkaStreams, Materialized, Serdes, StreamsBuilder, StreamsConfig, Topology
from millstream.console.application.console import ApplicationConsole
from millstream.server.settings import ServerSettings

NAME, TOPIC, STORE = "ledger", "bookings", "balances"
#: The consumers of its second run: a broker can be told to give them little at a time.
SLOW = "ledger-slow"
#: Small pieces, of which one after the other is fetched.
_PRODUCER = {"producer.batch.size": "600"}
_CONSUMER = {"consumer.client.id": SLOW, "consumer.fetch.message.max.bytes": "600"}


def topology() -> Topology:
    """Counts the bookings of each account."""
    builder = StreamsBuilder()
    bookings = builder.stream(TOPIC, Consumed(Serdes.string, Serdes.string))
    bookings.group_by_key(Grouped(Serdes.string, Serdes.string)).count(materialized=Materialized(STORE))
    return builder.build()


def config(bootstrap_servers: str, directory: Path, client: dict[str, str] | None = None) -> StreamsConfig:
    """Its configuration, with a directory for its files."""
    return StreamsConfig(
        application_id=NAME,
        bootstrap_servers=bootstrap_servers,
        num_stream_threads=1,
        num_standby_replicas=1,
        state_dir=directory / "state",
        client=client or {},
    )


def main() -> None:
    bootstrap_servers, directory = sys.argv[1], Path(sys.argv[2])
    first = KafkaStreams(topology(), config(bootstrap_servers, directory, _PRODUCER))
    first.start(once=True)
    first.wait()
    shutil.rmtree(directory)
    again = KafkaStreams(
        topology(),
        config(bootstrap_servers, directory, _CONSUMER),
        server=ServerSettings(),
        around=ApplicationConsole,
    )
    with again:
        print(again.url, flush=True)
        again.wait()


if __name__ == "__main__":
    main()
