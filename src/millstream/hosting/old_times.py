"""Event times that lie so far back that Kafka deletes what a windowed store still needs.

The records of a windowed store's changelog are as old as their rows, and Kafka deletes them when they are older than
the topic keeps them, by the wall clock, as it does for Kafka Streams. With records of long ago that may be at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from datetime import timedelta

from millstream.config import StreamsConfig
from millstream.durations import milliseconds
from millstream.state.builders import StoreBuilder
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.lanes")


class OldTimes:
    """Warns once of stores whose changelogs may not be whole.

    Args:
        topology: describes the stores.
        stores: which of them are logged.
        config: how much longer than the store a changelog keeps rows.
    """

    def __init__(self, topology: Topology, stores: Iterable[str], config: StreamsConfig) -> None:
        name = "windowstore_changelog_additional_retention"
        additional = milliseconds(config.windowstore_changelog_additional_retention, name)
        builders = {store: topology.stores[store] for store in stores}
        #: How long changelogs keep rows, by store, in milliseconds.
        self._kept = {
            store: builder.supplier.retention_ms + additional
            for store, builder in builders.items()
            if isinstance(builder, StoreBuilder) and builder.supplier.retention_ms is not None
        }

    def look(self, stream_time: int) -> None:
        """See how old records are; costs nothing once it was said, or where no store is concerned."""
        if not self._kept or stream_time < 0:
            return
        age = int(time.time() * 1000) - stream_time
        short = sorted(store for store, kept in self._kept.items() if kept < age)
        if short:
            self._kept = {}
            log.warning(
                "records are %d days old, and Kafka keeps the changelog of store %s for a shorter time: after a "
                "failure windows may be missing; set windowstore_changelog_additional_retention to more than %s",
                *(age // 86_400_000, ", ".join(short), timedelta(days=age // 86_400_000 + 1)),
            )
