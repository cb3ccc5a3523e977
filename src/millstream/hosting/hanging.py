"""Tells when a transaction in the topics of an application does not end, which nobody would notice otherwise."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from contextlib import closing
from datetime import timedelta

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.hosting.producing.written import written_topics
from millstream.kafka.admin import Admin, Partition
from millstream.kafka.undecided import UndecidedTransactions
from millstream.topology.nodes import SourceNode
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")

_LOOK_SECONDS = 30.0
#: Longer than the transactions of lanes may last after the lane is gone: 10 seconds, or 60 in batches.
_PATIENCE_SECONDS = 90.0
_ASKING = timedelta(seconds=10)


class HangingTransactions:
    """Looks now and then at the topics that an application reads, writes and keeps, from `start` to `close`.

    Args:
        topology: which topics it reads and writes.
        config: where the brokers are.
    """

    def __init__(self, topology: Topology, config: StreamsConfig) -> None:
        self._config = config
        self._written = frozenset(written_topics(topology, config))
        self._sources = [node for node in topology.nodes.values() if isinstance(node, SourceNode)]
        self._found = UndecidedTransactions(_PATIENCE_SECONDS)
        self._closing = threading.Event()

    def start(self) -> None:
        """Begin to look, in a thread of its own: a broker that is away keeps nobody waiting."""
        threading.Thread(target=self._run, name="hanging-transactions", daemon=True).start()

    def close(self) -> None:
        """Look no more. Safe to call again."""
        self._closing.set()

    def look(self) -> None:
        """Look once, and say what is new.

        Raises:
            MillstreamError: the broker does not answer.
        """
        with closing(Admin(self._config, timeout=_ASKING)) as admin:
            partitions = list(self._partitions(admin.topics()))
            # In this order: a transaction that begins meanwhile has not been open for long.
            ends = admin.end_offsets(partitions, committed=False)
            decided = admin.end_offsets(partitions, committed=True)
        for undecided in self._found.look(decided, ends):
            log.warning("%s", undecided)

    def _partitions(self, known: dict[str, int]) -> Iterable[Partition]:
        """Those of all topics that the application has to do with."""
        own = f"{self._config.application_id}-"
        for topic, count in known.items():
            if topic.startswith(own) or topic in self._written or any(_reads(node, topic) for node in self._sources):
                yield from ((topic, number) for number in range(count))

    def _run(self) -> None:
        while not self._closing.wait(_LOOK_SECONDS):
            try:
                self.look()
            except MillstreamError as error:  # the broker is away: others say so
                log.debug("%s", error)


def _reads(node: SourceNode, topic: str) -> bool:
    return topic in node.topics if node.pattern is None else node.pattern.fullmatch(topic) is not None
