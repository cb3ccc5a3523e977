"""Whether topics hold the records that a case expects."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any

from millstream.records import Windowed
from millstream.sql.conformance.case import Case, Json
from millstream.sql.conformance.errors import NotExpected
from millstream.sql.conformance.values import matches
from millstream.sql.engine.topics import TopicRecord

#: Bytes to what they hold: `(key, value)`, records as dicts.
Decode = Callable[[TopicRecord], tuple[Any, Any]]


def check_outputs(case: Case, read: Callable[[str], Sequence[TopicRecord]], decode: Decode) -> None:
    """Compare all expected outputs, topic by topic.

    Raises:
        NotExpected: a topic holds something else.
    """
    expected: dict[str, list[Json]] = {}
    for output in case.outputs:
        expected.setdefault(output["topic"], []).append(output)
    for topic, outputs in expected.items():
        actual = [(record, *_decoded(decode, record)) for record in read(topic)]
        if len(actual) != len(outputs):
            shown = "; ".join(_show(*record) for record in actual) or "nothing"
            raise NotExpected(f"{topic}: expected {len(outputs)} records, got {len(actual)}: {shown}")
        for number, (record, output) in enumerate(zip(actual, outputs, strict=True)):
            difference = _difference(*record, output, only_inserts=not case.inputs)
            if difference:
                raise NotExpected(
                    f"{topic}, record {number}: {difference} expected {_shown_output(output)}, got {_show(*record)}"
                )


def _decoded(decode: Decode, record: TopicRecord) -> tuple[Any, Any]:
    try:
        return decode(record)
    except Exception as error:
        raise NotExpected(f"{record.topic}: cannot decode {record.key!r}, {record.value!r}: {error!r}") from error


def _difference(record: TopicRecord, key: Any, value: Any, output: Json, *, only_inserts: bool) -> str | None:
    """Which part differs, if one does."""
    window = output.get("window")
    if window is not None:
        if not isinstance(key, Windowed) or not _same_window(key, window):
            return "window:"
        key = key.key
    if not matches(key, output.get("key")):
        return "key:"
    if not matches(value, output.get("value")):
        return "value:"
    if not _same_headers(record, output.get("headers") or []):
        return "headers:"
    timestamp = output.get("timestamp")
    if timestamp is not None and timestamp != record.timestamp and not (only_inserts and timestamp == 0):
        return "timestamp:"
    return None


def _same_window(key: Windowed[Any], window: Json) -> bool:
    if key.window.start != window["start"]:
        return False
    # ksqlDB's tests read time windows without knowing their size from the topic; the end is that of the source.
    return bool(key.window.end == window["end"])


def _same_headers(record: TopicRecord, expected: list[Json]) -> bool:
    if len(record.headers) != len(expected):
        return False
    for (name, value), header in zip(record.headers, expected, strict=True):
        wanted = None if header["VALUE"] is None else base64.b64decode(header["VALUE"])
        if name != header["KEY"] or value != wanted:
            return False
    return True


def _show(record: TopicRecord, key: Any, value: Any) -> str:
    shown = f"{key!r}: {value!r} @ {record.timestamp}"
    return f"{shown} {record.headers!r}" if record.headers else shown


def _shown_output(output: Json) -> str:
    shown = f"{output.get('key')!r}: {output.get('value')!r} @ {output.get('timestamp')}"
    for part in ("window", "headers"):
        if output.get(part):
            shown += f" {part} {output[part]!r}"
    return shown
