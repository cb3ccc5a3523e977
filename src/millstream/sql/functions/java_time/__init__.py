"""Dates and times as java.time writes and reads them: patterns, zones, and ksqlDB's own text forms."""

from __future__ import annotations

from millstream.sql.functions.java_time.parser import Parser, date_parser, time_parser, timestamp_parser
from millstream.sql.functions.java_time.printer import Formatter, formatter
from millstream.sql.functions.java_time.sql_text import (
    date_text,
    parse_date_text,
    parse_time_text,
    parse_timestamp_text,
    time_text,
    timestamp_text,
)
from millstream.sql.functions.java_time.zones import UTC, Zone, zone_of

__all__ = [
    "UTC",
    "Formatter",
    "Parser",
    "Zone",
    "date_parser",
    "date_text",
    "formatter",
    "parse_date_text",
    "parse_time_text",
    "parse_timestamp_text",
    "time_parser",
    "time_text",
    "timestamp_parser",
    "timestamp_text",
    "zone_of",
]
