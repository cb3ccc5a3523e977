"""PRINT: raw records of a topic, in the format they seem to have."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterator

from millstream.sql.engine.answers.entities import PrintedRecord, PrintedTopic
from millstream.sql.engine.context import Context
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import SqlError
from millstream.sql.tree.statements import PrintTopic

#: How many records the formats are guessed from.
_SAMPLE = 10


class FormatGuess:
    """The format that all bytes seen so far can have, in words."""

    def __init__(self) -> None:
        self._kinds: set[str] = set()

    def add(self, data: bytes | None) -> None:
        """See some more."""
        if data is not None:
            self._kinds.add(kind_of(data))

    def __str__(self) -> str:
        if not self._kinds:
            return "¯\\_(ツ)_/¯ - no data processed"
        return next(iter(self._kinds)) if len(self._kinds) == 1 else "MIXED"


def print_records(context: Context, statement: PrintTopic, text: str) -> PrintedTopic:
    """Read and show records; without a LIMIT those of a broker come without end."""
    check_print(context, statement)
    found = context.topics.read(statement.topic, from_beginning=statement.from_beginning)
    records: Iterator[TopicRecord] = iter(found)
    if statement.interval is not None and statement.interval > 1:
        records = itertools.islice(records, 0, None, statement.interval)
    if statement.limit is not None:
        records = itertools.islice(records, statement.limit)
    endless = statement.limit is None and not isinstance(found, list)
    sample = list(itertools.islice(records, 1 if endless else _SAMPLE))
    keys, values = FormatGuess(), FormatGuess()
    for record in sample:
        keys.add(record.key)
        values.add(record.value)
    shown = (
        printed(record.key, record.value, record.timestamp, record.partition)
        for record in itertools.chain(sample, records)
    )
    return PrintedTopic(
        statement_text=text,
        topic=statement.topic,
        key_format=str(keys),
        value_format=str(values),
        records=shown if endless else list(shown),
    )


def check_print(context: Context, statement: PrintTopic) -> None:
    """Refuse what cannot be printed.

    Raises:
        SqlError: there is no such topic, or the limit is none.
    """
    if context.topics.describe(statement.topic) is None:
        raise SqlError(
            f"Could not find topic '{statement.topic}', or the KSQL user does not have permissions to list the topic. "
            "Topic names are case-sensitive."
        )
    if statement.limit is not None and statement.limit < 0:
        raise SqlError(f"LIMIT of PRINT cannot be negative: {statement.limit}")


def printed(key: bytes | None, value: bytes | None, timestamp: int, partition: int) -> PrintedRecord:
    """A record as PRINT shows it."""
    return PrintedRecord(timestamp, shown(key), shown(value), partition)


def kind_of(data: bytes) -> str:
    """The format that bytes seem to have."""
    if len(data) > 5 and data[0] == 0:
        return "SCHEMA REGISTRY"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return {4: "KAFKA_INT", 8: "KAFKA_BIGINT or KAFKA_DOUBLE"}.get(len(data), "UNRECOGNISED_BYTES")
    if _is_json(text):
        return "JSON"
    if len(data) in (4, 8) and not text.isprintable():
        return {4: "KAFKA_INT", 8: "KAFKA_BIGINT or KAFKA_DOUBLE"}[len(data)]
    return "KAFKA_STRING"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def shown(data: bytes | None) -> str:
    """Bytes as text, in the format they seem to have."""
    if data is None:
        return "<null>"
    kind = kind_of(data)
    if kind == "KAFKA_INT":
        return str(struct.unpack(">i", data)[0])
    if kind.startswith("KAFKA_BIGINT"):
        return str(struct.unpack(">q", data)[0])
    if kind in ("JSON", "KAFKA_STRING"):
        return data.decode("utf-8")
    return data.hex()
