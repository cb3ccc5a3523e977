"""Which records a partition has: also those of transactions that are not decided, which readers do not see yet."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import NamedTuple

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin, Partition


class Extent(NamedTuple):
    """Offsets of a partition.

    Args:
        first: of the first record that is there.
        decided: before which all transactions are decided; readers of committed records see no more.
        end: after the last record.
    """

    first: int
    decided: int
    end: int


def extent(config: StreamsConfig, partition: Partition, timeout: timedelta) -> Extent:
    """Ask the broker for the offsets of a partition.

    Raises:
        BrokerUnavailable: it does not answer in time.
        TopicMissing: the topic is not there.
    """
    with closing(Admin(config, timeout=timeout)) as admin:
        first = admin.begin_offsets([partition])[partition]
        # In this order: what is decided meanwhile does not seem to be more than there is.
        decided = admin.end_offsets([partition], committed=True)[partition]
        return Extent(first, decided, admin.end_offsets([partition], committed=False)[partition])
