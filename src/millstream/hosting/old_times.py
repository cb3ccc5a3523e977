"""Event times that lie so far back that Kafka would delete what a windowed store still needs.

The records of a windowed store's changelog are as old as their rows, and Kafka deletes them when they are older than
the topic keeps them, by the wall clock, be the store that of Kafka Streams or ours. With records of long ago that may
be at once, even before their transaction has ended. So a task sees to it that the topic keeps them for long enough,
before it writes them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta

from millstream.changelogs import Changelog
from millstream.config import StreamsConfig
from millstream.durations import milliseconds
from millstream.errors import MillstreamError
from millstream.kafka.admin import Admin
from millstream.kafka.errors import BrokerUnavailable
from millstream.kafka.topics import DAY_MS, LONGEST_MS
from millstream.state.builders import StoreBuilder
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.lanes")

_RETENTION = "retention.ms"
_ASKING = timedelta(seconds=10)


class OldTimes:
    """Looks how old records are, and has the changelogs of windowed stores keep them.

    Args:
        topology: describes the stores.
        logs: the changelogs of those that are logged.
        config: where the brokers are, and how much longer than the store a changelog keeps rows.
    """

    def __init__(self, topology: Topology, logs: Mapping[str, Changelog], config: StreamsConfig) -> None:
        name = "windowstore_changelog_additional_retention"
        additional = milliseconds(config.windowstore_changelog_additional_retention, name)
        self._config = config
        self._topics = {store: log.topic for store, log in logs.items()}
        #: How long stores keep rows, in milliseconds, and how much longer changelogs do at least.
        self._retention = {
            store: builder.supplier.retention_ms
            for store in logs
            if isinstance(builder := topology.stores[store], StoreBuilder) and builder.supplier.retention_ms is not None
        }
        self._additional = dict.fromkeys(self._retention, additional)

    def look(self, stream_time: int) -> None:
        """See how old records are that are about to be written; where no store is concerned that costs nothing."""
        if not self._additional or stream_time < 0:
            return
        age = int(time.time() * 1000) - stream_time
        short = sorted(store for store, additional in self._additional.items() if additional < age)
        if short:
            self._keep_longer(short, age)

    def _keep_longer(self, stores: list[str], age: int) -> None:
        """As long again as the records are old now: they grow older while nothing new comes."""
        days = age // DAY_MS
        try:
            with closing(Admin(self._config, timeout=_ASKING)) as admin:
                for store in stores:
                    retention = self._retention[store]
                    kept = _at_least(admin, self._topics[store], min(2 * age + retention, LONGEST_MS))
                    self._additional[store] = kept - retention
            log.info("records are %d days old: Kafka keeps the changelogs of %s for longer", days, ", ".join(stores))
        except BrokerUnavailable as error:  # then nothing can be written either
            log.debug("%s", error)
        except MillstreamError as error:
            self._additional = {}
            log.warning(
                "records are %d days old, and Kafka keeps the changelog of store %s for a shorter time: after a "
                "failure windows may be missing; set windowstore_changelog_additional_retention to more than %s (%s)",
                *(days, ", ".join(stores), timedelta(days=days + 1), error.primary),
            )


def _at_least(admin: Admin, topic: str, wanted: int) -> int:
    """Have a topic keep records for so long; how long it does."""
    kept = int(admin.topic_settings(topic)[_RETENTION] or 0)
    if kept < 0:
        return LONGEST_MS
    if kept < wanted:
        admin.set_topic(topic, _RETENTION, str(wanted))
    return max(kept, wanted)
