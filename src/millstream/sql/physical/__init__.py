"""From the steps of a plan to a topology of the DSL."""

from __future__ import annotations

from millstream.sql.physical.builder import build_topology

__all__ = ["build_topology"]
