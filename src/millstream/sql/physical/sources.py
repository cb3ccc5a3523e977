"""Where records enter: a topic as a stream or table of rows with all that expressions may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.dsl.options import Consumed, Materialized
from millstream.dsl.records import map_records, skip_name
from millstream.processors.api import TransformerContext, ValueTransformer
from millstream.records import Headers
from millstream.sql.physical.flow import Flow, Surroundings
from millstream.sql.physical.timestamps import timestamp_extractor
from millstream.sql.plan.steps import StreamSource, TableSource
from millstream.sql.schema.columns import (
    PSEUDO_COLUMNS,
    ROWOFFSET,
    ROWPARTITION,
    SYSTEM_COLUMNS,
    Column,
)

_Row = tuple[Any, ...] | None


def stream_source(step: StreamSource, around: Surroundings, wanted: frozenset[str] | None) -> Flow:
    """A topic as a stream. `wanted` are the columns that the steps after it use; None: all of them."""
    stream = around.builder.stream(step.topic, _consumed(step, around, "latest"))
    names = {column.name for column in step.source_schema.value}
    headers = {column.name for column in step.source_schema.headers}
    if wanted is not None and wanted <= names:
        skip_name(stream)
    elif wanted is not None and not wanted & (headers | SYSTEM_COLUMNS.keys()):
        stream = stream.map_values(_enriched(step, place=False))
    else:
        stream = map_records(stream, _enriched(step, place=True))
    return Flow(stream, step.schema, step.window)


def table_source(step: TableSource, around: Surroundings, *, stored: bool) -> Flow:
    """A topic as a table. One that gets a new key first thing need not be `stored` itself."""
    table = around.builder.table(step.topic, _consumed(step, around, "earliest"))
    headers = step.source_schema.headers
    kept = [
        *step.source_schema.value,
        *(Column(column.name, column.type) for column in headers),
        *(Column(name, PSEUDO_COLUMNS[name]) for name in (ROWPARTITION, ROWOFFSET)),
    ]
    materialized = None
    if stored:
        name = "-".join((*step.context[:-1], "Reduce"))
        formats = step.store_formats or step.formats
        key = around.key_serde(formats.key, step.source_schema, step.window, name)
        materialized = Materialized(name, key, around.kept_serde(formats, kept, name))
    placed = table.transform_values(lambda: _AddPlace(headers), materialized=materialized)
    key_columns = _key_columns(step)
    result = placed.transform_values(lambda: _AddTimeAndKey(key_columns))
    return Flow(result, step.schema, step.window)


def _consumed(step: StreamSource | TableSource, around: Surroundings, reset: str) -> Consumed[Any, Any]:
    columns = step.source_schema.value
    extractor = None
    if step.timestamp is not None:
        extractor = timestamp_extractor(step.timestamp, step.source_schema, around, step)
    return Consumed(
        around.key_serde(step.formats.key, step.source_schema, step.window, step.topic),
        around.value_serde(step.formats.value, columns, step.topic),
        timestamp_extractor=extractor,
        offset_reset=around.settings.get("auto.offset.reset", reset),
    )


def _enriched(step: StreamSource, *, place: bool) -> Callable[..., _Row]:
    """What adds the record's headers and place, and its key, to its row: written out for the number of columns.

    It takes `(key, row, timestamp, headers, context)`, or without a place only `(key, row)`.
    """
    columns = len(step.source_schema.value)
    values = [f"row{index}" for index in range(columns)]
    headers = step.source_schema.headers
    if place:
        added = ["*read_headers(headers)"] if headers else []
        added += ["timestamp", "context.partition", "context.offset"]
    else:
        added = ["None"] * (len(headers) + len(PSEUDO_COLUMNS))
    lines = [
        f"def enriched(key, row{', timestamp, headers, context' if place else ''}):",
        "    if row is None:",
        "        return None",
        f"    {''.join(f'{value}, ' for value in values)}= row" if values else "",
        f"    return ({', '.join([*values, *added, '*(key_columns(key))'])},)",
    ]
    names: dict[str, Any] = {"key_columns": _key_columns(step), "read_headers": _header_reader(headers)}
    if step.window is None:  # a key is its columns
        names["nothing"] = (None,) * len(step.source_schema.key)
        lines[-1] = lines[-1].replace("*(key_columns(key))", "*(nothing if key is None else key)")
    exec(compile("\n".join(lines), f"<columns of {step.topic}>", "exec"), names)  # noqa: S102 - made of names only
    made: Callable[..., _Row] = names["enriched"]
    return made


def _key_columns(step: StreamSource | TableSource) -> Callable[[Any], tuple[Any, ...]]:
    """From a key to its columns in the row, with the bounds of its window."""
    count = len(step.source_schema.key)
    if step.window is None:
        return _PlainKey((None,) * count)
    return _WindowedKey((None,) * (count + 2))


class _PlainKey:
    def __init__(self, nothing: tuple[None, ...]) -> None:
        self._nothing = nothing

    def __call__(self, key: Any) -> tuple[Any, ...]:
        return self._nothing if key is None else key


class _WindowedKey:
    def __init__(self, nothing: tuple[None, ...]) -> None:
        self._nothing = nothing

    def __call__(self, key: Any) -> tuple[Any, ...]:
        return self._nothing if key is None else (*(key.key or self._nothing[:-2]), *key.window)


def _header_reader(columns: Sequence[Column]) -> Callable[[Headers | None], tuple[Any, ...]] | None:
    """From headers to the values of header columns; None when there are none."""
    if not columns:
        return None
    names = [column.header for column in columns]

    def read(headers: Headers | None) -> tuple[Any, ...]:
        found = list(headers or ())
        last = dict(found)
        return tuple([(key, value) for key, value in found] if name is None else last.get(name) for name in names)

    return read


class _AddPlace(ValueTransformer[Any, Any, Any]):
    """Adds what belongs to the record and not to its row: it must be kept with it."""

    def __init__(self, headers: Sequence[Column]) -> None:
        self._read_headers = _header_reader(headers) or (lambda headers: ())

    def init(self, context: TransformerContext) -> None:
        self._context = context

    def transform(self, key: Any, row: _Row) -> _Row:
        if row is None:
            return None
        context = self._context
        metadata = context.record_metadata()
        place = (-1, -1) if metadata is None else (metadata.partition, metadata.offset)
        return row + self._read_headers(context.headers) + place


class _AddTimeAndKey(ValueTransformer[Any, Any, Any]):
    """Adds the record's time before its partition and offset, and the key at the end."""

    def __init__(self, key_columns: Callable[[Any], tuple[Any, ...]]) -> None:
        self._key_columns = key_columns

    def init(self, context: TransformerContext) -> None:
        self._context = context

    def transform(self, key: Any, row: _Row) -> _Row:
        if row is None:
            return None
        return (*row[:-2], self._context.timestamp, *row[-2:], *self._key_columns(key))
