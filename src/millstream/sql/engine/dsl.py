"""SQL and the DSL together: streams and tables of SQL in a topology, and streams of a topology in SQL."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.options import Consumed, Produced
from millstream.dsl.streams.kstream import KStream
from millstream.dsl.streams.ktable import KTable
from millstream.extractors import TimestampExtractor
from millstream.serdes import Serde, Serdes
from millstream.sql.catalogue import Source
from millstream.sql.engine.context import Context
from millstream.sql.engine.dsl_serdes import KeySerde, ValueSerde, row_extractor
from millstream.sql.errors import SqlError
from millstream.sql.formats import serde
from millstream.sql.physical.flow import Surroundings
from millstream.sql.physical.timestamps import timestamp_extractor
from millstream.sql.plan.steps import StreamSource
from millstream.sql.schema.formats import WindowType
from millstream.sql.schema.types import quote
from millstream.sql.tree.statements import SourceKind


def read_stream(context: Context, name: str, builder: StreamsBuilder) -> KStream[Any, dict[str, Any]]:
    """A stream of SQL, in a topology."""
    source = _source(context, name, SourceKind.STREAM)
    return builder.stream(source.topic, _consumed(context, source, builder))


def read_table(context: Context, name: str, builder: StreamsBuilder) -> KTable[Any, dict[str, Any]]:
    """A table of SQL, in a topology."""
    source = _source(context, name, SourceKind.TABLE)
    return builder.table(source.topic, _consumed(context, source, builder))


def write_stream(context: Context, name: str, stream: KStream[Any, Any]) -> None:
    """Write a stream of a topology to the topic of a stream or table of SQL."""
    source = _source(context, name, None)
    stream.to(source.topic, Produced(_key_serde(context, source), _value_serde(context, source)))


def _source(context: Context, name: str, kind: SourceKind | None) -> Source:
    source = context.catalogue.get(name) or context.catalogue.get(name.upper())
    if source is None:
        raise SqlError(
            f"there is no stream or table {quote(name)}", hint="create it with CREATE STREAM or CREATE TABLE"
        )
    if kind is not None and source.kind is not kind:
        raise SqlError(
            f"{quote(source.name)} is a {source.kind.value.lower()}", hint=f"take it as a {source.kind.value.lower()}"
        )
    return source


def _consumed(context: Context, source: Source, builder: StreamsBuilder) -> Consumed[Any, dict[str, Any]]:
    return Consumed(
        _key_serde(context, source),
        _value_serde(context, source),
        timestamp_extractor=_extractor(context, source, builder),
    )


def _extractor(context: Context, source: Source, builder: StreamsBuilder) -> TimestampExtractor | None:
    if source.timestamp is None:
        return None
    step = StreamSource((source.name,), source.schema, source.topic, source.formats, source.schema, source.timestamp)
    around = Surroundings(source.name, builder, context.functions, context.settings, context.registry, context.log)
    extract = timestamp_extractor(source.timestamp, source.schema, around, step)
    return row_extractor(extract, source.schema.key, source.schema.value)


def _key_serde(context: Context, source: Source) -> Serde[Any]:
    columns = source.schema.key
    rows = serde(source.formats.key, columns, is_key=True, registry=context.registry, topic=source.topic)
    inner = KeySerde(rows, columns)
    if source.window is None:
        return inner
    if source.window.type is WindowType.SESSION:
        return Serdes.session_windowed(inner)
    return Serdes.time_windowed(inner, timedelta(milliseconds=source.window.size_ms or 0))


def _value_serde(context: Context, source: Source) -> Serde[dict[str, Any]]:
    columns = source.schema.value
    rows = serde(source.formats.value, columns, is_key=False, registry=context.registry, topic=source.topic)
    return ValueSerde(rows, columns)
