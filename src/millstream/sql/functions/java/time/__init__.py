"""Dates and times as java.time writes and reads them: patterns and zones."""

from __future__ import annotations

from millstream.sql.functions.java.time.parser import Parser, timestamp_parser
from millstream.sql.functions.java.time.pattern import compile_pattern
from millstream.sql.functions.java.time.printer import Formatter, formatter
from millstream.sql.functions.java.time.zones import UTC, Zone, zone_of

__all__ = [
    "UTC",
    "Formatter",
    "Parser",
    "Zone",
    "compile_pattern",
    "formatter",
    "timestamp_parser",
    "zone_of",
]
