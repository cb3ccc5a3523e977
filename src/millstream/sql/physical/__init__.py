"""From the steps of a plan to a topology of the DSL."""

from __future__ import annotations

from millstream.sql.physical.builder import BuiltQuery, Results, build_query
from millstream.sql.physical.kept import Kept

__all__ = ["BuiltQuery", "Kept", "Results", "build_query"]
