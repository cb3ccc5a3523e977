"""What can go wrong with Kafka Connect.

StreamsError
└── ConnectError          Connect cannot be asked, or refuses
    ├── ConnectRefused    it answers with an error
    ├── NoConnect         nothing answers
    └── PortInUse         a worker cannot listen where it should
"""

from __future__ import annotations

from millstream.errors import StreamsError


class ConnectError(StreamsError):
    """Kafka Connect cannot be asked, or refuses."""


class ConnectRefused(ConnectError):
    """A worker answers with an error.

    Args:
        status: the HTTP status.
        body: what it says, as it came.
    """

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"Kafka Connect answers with status {status}", detail=body or None)
        self.status = status
        self.body = body


class NoConnect(ConnectError):
    """Nothing answers where a worker should be."""


class PortInUse(ConnectError):
    """A worker cannot listen where it should: somebody does already."""
