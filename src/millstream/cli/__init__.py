"""`millstream`, the command."""

from __future__ import annotations

from millstream.cli.main import main

__all__ = ["main"]
