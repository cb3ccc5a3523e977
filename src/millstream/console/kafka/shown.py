"""Records as JSON, and back."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from millstream.console.kafka.schemas import decoded
from millstream.registry.schemas import SchemaRegistry
from millstream.server.problems import BadRequest
from millstream.sql.engine.answers.printing import kind_of, shown
from millstream.sql.engine.topics import TopicRecord

#: A page with many large records would not open; one record is shown whole.
MOST_CHARACTERS = 4000


def record_json(record: TopicRecord, registry: SchemaRegistry | None = None, *, whole: bool = False) -> dict[str, Any]:
    """A record as the console shows it.

    Args:
        record: the record.
        registry: where schemas are.
        whole: whether long values are not cut.
    """
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": data_json(record.key, registry, whole=whole),
        "value": data_json(record.value, registry, whole=whole),
        "headers": [[name, header_text(value)] for name, value in record.headers],
    }


def data_json(
    data: bytes | None, registry: SchemaRegistry | None = None, *, whole: bool = False
) -> dict[str, Any] | None:
    """Bytes with the format they seem to have: as text where they are text, else in base64 too.

    >>> data_json(b'{"a":1}')
    {'kind': 'JSON', 'text': '{"a":1}'}
    """
    if data is None:
        return None
    kind, text = decoded(data, registry) or (kind_of(data), shown(data))
    found: dict[str, Any] = {"kind": kind, "text": text}
    if kind not in ("JSON", "KAFKA_STRING"):
        found["base64"] = base64.b64encode(data).decode()
    if not whole and len(text) > MOST_CHARACTERS:
        found |= {"text": text[:MOST_CHARACTERS], "length": len(text)}
        found.pop("base64", None)
    return found


def header_text(value: bytes | None) -> str | None:
    """A header's value; what is no text is shown as well as it can be."""
    return None if value is None else value.decode(errors="replace")


def data_of(given: Any) -> bytes | None:
    """What a client wants to write: nothing, `{"text": ...}` or `{"base64": ...}`.

    >>> data_of({"text": "a"}), data_of(None)
    (b'a', None)
    """
    match given:
        case None:
            return None
        case {"base64": str(encoded)}:
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error as error:
                raise BadRequest("this is no base64", detail=str(error)) from error
        case {"text": str(text)}:
            return text.encode(errors="replace")
    raise BadRequest("keys and values are null, or have a text or base64")
