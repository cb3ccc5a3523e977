"""The topics of a run: every run has its own, so that many can share a broker."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.topics import NewTopic

PARTITIONS = 4
#: The broker notes when a result was written, so that one can tell what was written after a fault.
_RESULTS = {"message.timestamp.type": "LogAppendTime"}


@dataclass(frozen=True)
class Topics:
    """Names of topics, all with one prefix."""

    prefix: str

    @property
    def visits(self) -> str:
        return f"{self.prefix}visits"

    @property
    def clicks(self) -> str:
        return f"{self.prefix}clicks"

    @property
    def buys(self) -> str:
        return f"{self.prefix}buys"

    @property
    def visit_counts(self) -> str:
        return f"{self.prefix}visit-counts"

    @property
    def counts(self) -> str:
        return f"{self.prefix}counts"

    @property
    def minutes(self) -> str:
        return f"{self.prefix}minutes"

    @property
    def pairs(self) -> str:
        return f"{self.prefix}pairs"

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the feed writes."""
        return self.visits, self.clicks, self.buys

    @property
    def results(self) -> tuple[str, ...]:
        """What the application writes."""
        return self.visit_counts, self.counts, self.minutes, self.pairs

    def create(self, bootstrap: str) -> None:
        """Make them."""
        admin(bootstrap).create_topics(
            [
                *(NewTopic(name, PARTITIONS) for name in self.inputs),
                *(NewTopic(name, PARTITIONS, _RESULTS) for name in self.results),
            ]
        )

    def create_input(self, bootstrap: str, name: str) -> None:
        """Make one input topic, which was deleted before."""
        admin(bootstrap).create_topics([NewTopic(name, PARTITIONS)])


def admin(bootstrap: str) -> Admin:
    """An admin client."""
    return Admin(StreamsConfig(application_id="faults", bootstrap_servers=bootstrap))
