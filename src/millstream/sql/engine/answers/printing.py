"""PRINT: raw records of a topic, in the format they seem to have."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterable, Iterator

from millstream.sql.engine.answers.entities import PrintedRecord, PrintedTopic
from millstream.sql.engine.context import Context
from millstream.sql.engine.topics import TopicRecord
from millstream.sql.errors import SqlError
from millstream.sql.tree.statements import PrintTopic

#: How many records the formats are guessed from.
_SAMPLE = 10


def print_records(context: Context, statement: PrintTopic, text: str) -> PrintedTopic:
    """Read and show records; without a LIMIT those of a broker come without end."""
    if statement.limit is not None and statement.limit < 0:
        raise SqlError(f"LIMIT of PRINT cannot be negative: {statement.limit}")
    found = context.topics.read(statement.topic, from_beginning=statement.from_beginning)
    records: Iterator[TopicRecord] = iter(found)
    if statement.interval is not None and statement.interval > 1:
        records = itertools.islice(records, 0, None, statement.interval)
    if statement.limit is not None:
        records = itertools.islice(records, statement.limit)
    endless = statement.limit is None and not isinstance(found, list)
    sample = list(itertools.islice(records, 1 if endless else _SAMPLE))
    printed = map(_printed, itertools.chain(sample, records))
    return PrintedTopic(
        statement_text=text,
        topic=statement.topic,
        key_format=_guess([record.key for record in sample]),
        value_format=_guess([record.value for record in sample]),
        records=printed if endless else list(printed),
    )


def _printed(record: TopicRecord) -> PrintedRecord:
    return PrintedRecord(record.timestamp, _shown(record.key), _shown(record.value), record.partition)


def _guess(data: Iterable[bytes | None]) -> str:
    """The format that all of some bytes can have."""
    known = [item for item in data if item is not None]
    if not known:
        return "¯\\_(ツ)_/¯ - no data processed"
    kinds = {_kind(item) for item in known}
    return kinds.pop() if len(kinds) == 1 else "MIXED"


def _kind(data: bytes) -> str:
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


def _shown(data: bytes | None) -> str:
    if data is None:
        return "<null>"
    kind = _kind(data)
    if kind == "KAFKA_INT":
        return str(struct.unpack(">i", data)[0])
    if kind.startswith("KAFKA_BIGINT"):
        return str(struct.unpack(">q", data)[0])
    if kind in ("JSON", "KAFKA_STRING"):
        return data.decode("utf-8")
    return data.hex()
