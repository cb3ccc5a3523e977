"""What can go wrong with programs that run on Java."""

from __future__ import annotations

from millstream.errors import StreamsError


class JvmError(StreamsError):
    """A program that runs on Java cannot be fetched, started or found."""
