"""Which lane it is."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.config import StreamsConfig
from millstream.hosting.lanes import notes

#: For so long the others wait for a lane that went without a word.
SESSION_MS = 6_000


def lanes_group(service: str) -> str:
    """The group of a service's lanes."""
    return f"{service}-lanes"


@dataclass(frozen=True)
class LaneSettings:
    """A lane of a service, or of an application.

    Args:
        config: where the brokers are.
        service: whose lane it is.
        name: unique among the service's lanes; a lane that is started in the place of a dead one has its name.
        is_application: the service is one application. Its group has its name, and tells how far it is in its inputs.
        is_replacement: it was started in the place of a dead one.
    """

    config: StreamsConfig
    service: str
    name: str
    is_application: bool = False
    is_replacement: bool = False

    @property
    def group(self) -> str:
        """The lanes' group."""
        return self.service if self.is_application else lanes_group(self.service)

    @property
    def topic(self) -> str:
        """The topic of slots."""
        return notes.slots_topic(self.service).name

    @property
    def server(self) -> str:
        """The part of its name that all lanes have that were started with it."""
        return self.name.rpartition("-")[0]

    @property
    def client(self) -> str:
        """What others know it by in the group."""
        return f"{self.service}-{self.name}"
