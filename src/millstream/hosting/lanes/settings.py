"""Which lane it is."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config import StreamsConfig
from millstream.hosting.lanes import notes


def lanes_group(service: str) -> str:
    """The group of a service's lanes."""
    return f"{service}-lanes"


@dataclass(frozen=True)
class LaneSettings:
    """A lane of a service.

    Args:
        config: where the brokers are; always exactly once.
        service: whose lane it is.
        name: unique among the service's lanes; a lane that is started in the place of a dead one has its name.
    """

    config: StreamsConfig
    service: str
    name: str

    @property
    def group(self) -> str:
        """The lanes' group."""
        return lanes_group(self.service)

    @property
    def topic(self) -> str:
        """The topic of slots."""
        return notes.slots_topic(self.service).name
