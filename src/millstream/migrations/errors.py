"""What can be wrong with migrations."""

from __future__ import annotations

from millstream.errors import MillstreamError


class MigrationError(MillstreamError):
    """A project, a file or the metadata is not as it must be; or a migration failed."""


class ServerRefused(MigrationError):
    """The server says no.

    Args:
        primary: its message.
        status: of HTTP.
    """

    def __init__(self, primary: str, status: int) -> None:
        super().__init__(primary)
        self.status = status
