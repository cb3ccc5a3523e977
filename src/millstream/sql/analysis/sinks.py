"""Where a persistent query writes: the formats, the topic and the columns of its sink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.sql.analysis.query.analyse import Analysis
from millstream.sql.analysis.request import SinkRequest
from millstream.sql.analysis.steps.rekeying import is_null_key
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.analysis.wording import place
from millstream.sql.catalogue import Catalogue, Source
from millstream.sql.errors import Location, SqlError
from millstream.sql.formats import check, format_of, key_features, value_features
from millstream.sql.plan.steps import Step, StreamSink, TableSink
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Encoding, FormatInfo, Formats, WindowInfo
from millstream.sql.schema.types import SqlDecimal, SqlType, quote
from millstream.sql.settings import Settings
from millstream.sql.tree.statements import SourceKind

_NONE = "NONE"


@dataclass(frozen=True)
class Sink:
    """Where a query writes.

    Attributes:
        existing: the stream that INSERT INTO adds to.
    """

    request: SinkRequest
    topic: str
    formats: Formats
    window: WindowInfo | None
    existing: Source | None = None

    def step(self, relation: Relation) -> Step:
        """The step that writes what another gives."""
        if relation.key.window != self.window:
            raise SqlError(f"Into can't change windowing: {relation.key.window} to {self.window}")
        make = TableSink if relation.is_table else StreamSink
        return make(
            (self.request.name,), relation.schema, relation.step, self.topic, self.formats, self.request.timestamp
        )

    def source(self, kind: SourceKind, schema: Schema) -> Source | None:
        """What the catalogue gets; None when it has it already.

        Raises:
            SqlError: the sink cannot hold the columns, or is no such thing as the query gives.
        """
        if self.existing is not None:
            _check_existing(self.existing, kind, schema)
            return None
        if self.request.kind is not kind:
            raise SqlError(
                f"Invalid result type. Your SELECT query produces a {kind.value}. "
                f"Please use CREATE {kind.value} AS SELECT statement instead."
            )
        check(self.formats.key, schema.key, is_key=True)
        check(self.formats.value, schema.value, is_key=False)
        return Source(
            kind,
            self.request.name,
            schema,
            self.topic,
            self.formats,
            self.window,
            self.request.timestamp,
            self.request.sql,
            from_query=True,
        )


def check_target(request: SinkRequest, catalogue: Catalogue) -> Source | None:
    """The stream that INSERT INTO adds to; None for CREATE .. AS.

    Raises:
        SqlError: there is no such stream, or nothing may be added to it.
    """
    if request.kind is not None:
        return None
    target = catalogue.get(request.name)
    if target is None:
        raise SqlError(f"{place(_target_place(request.at))}Source {quote(request.name)} does not exist.")
    if target.kind is not SourceKind.STREAM:
        raise SqlError(f"INSERT INTO can only be used to insert into a stream. {target.name} is a table.")
    if target.schema.headers:
        raise SqlError(f"Cannot insert into {target.name} because it has header columns")
    if target.read_only:
        raise SqlError(f"Cannot insert into read-only stream: {target.name}")
    return target


def _target_place(at: Location | None) -> Location | None:
    """Where the name stands in INSERT INTO name."""
    return None if at is None else replace(at, column=at.column + len("INSERT INTO "))


def resolve_sink(
    request: SinkRequest, target: Source | None, analysis: Analysis, schema: Schema, settings: Settings
) -> Sink:
    """The sink for rows of a schema.

    Args:
        request: what was asked for.
        target: the stream that INSERT INTO adds to.
        analysis: of the query; formats come from its first source unless WITH says otherwise.
        schema: the result of the query.
        settings: for defaults.

    Raises:
        SqlError: an unknown format, or one that does not go with the key or WRAP_SINGLE_VALUE.
    """
    if target is not None:
        return Sink(request, target.topic, target.formats, target.window, target)
    origin = analysis.first.source
    key = _key_format(request, analysis, keyless=not schema.key)
    if key.name == _NONE and request.key_format is None and schema.key:
        key = FormatInfo(str(settings.get("ksql.persistence.default.format.key", "KAFKA")).upper())
    value_name = (request.value_format or origin.formats.value.format.name).upper()
    value = _format_info(value_name, request.value_properties, origin.formats.value.format)
    formats = Formats(
        Encoding(key, key_features(key.name, single=len(schema.key) == 1)),
        Encoding(
            value,
            value_features(
                value.name,
                single=len(schema.value) == 1,
                wrap=request.wrap_single_value,
                default_wrap=settings.get("ksql.persistence.wrap.single.values"),
            ),
        ),
    )
    topic = request.topic or f"{settings.get('ksql.output.topic.name.prefix', '')}{request.name}"
    return Sink(request, topic, formats, analysis.result_window)


def _key_format(request: SinkRequest, analysis: Analysis, *, keyless: bool) -> FormatInfo:
    inherited = analysis.first.source.formats.key.format
    name = (request.key_format or inherited.name).upper()
    if is_null_key(analysis.query.partition_by):
        if request.key_format is not None and name != _NONE:
            raise SqlError("Key format specified for stream without key columns.")
        name = _NONE
    if keyless and request.key_format is None:
        name = _NONE
    properties = dict(request.key_properties)
    if name == "AVRO":
        properties.setdefault("fullSchemaName", _avro_key_name(request.name))
    return _format_info(name, properties, inherited)


def _avro_key_name(sink: str) -> str:
    """Records of keys are named after the sink, so that classes made of them do not clash."""
    camel = "".join(part.capitalize() for part in sink.split("_"))
    return f"io.confluent.ksql.avro_schemas.{camel}Key"


def _format_info(name: str, properties: Mapping[str, str], inherited: FormatInfo) -> FormatInfo:
    format = format_of(name)
    kept = {}
    if name == inherited.name:
        kept = {key: value for key, value in inherited.properties if key in format.inherited_properties}
    return FormatInfo(name, tuple(sorted({**kept, **properties}.items())))


def _check_existing(target: Source, kind: SourceKind, schema: Schema) -> None:
    if target.kind is not kind:
        raise SqlError(
            f"Incompatible data sink and query result. Data sink ({target.name}) type is K{target.kind.value} but "
            f"select query result is K{kind.value}."
        )
    if not _compatible(schema, target.schema):
        raise SqlError(
            f"Incompatible schema between results and sink.\nResult schema is {schema}\nSink schema is {target.schema}"
        )


def _compatible(result: Schema, target: Schema) -> bool:
    if len(result.columns) != len(target.columns):
        return False
    return all(
        mine.name == other.name and mine.namespace is other.namespace and _fits(mine.type, other.type)
        for mine, other in zip(result.columns, target.columns, strict=True)
    )


def _fits(kind: SqlType, target: SqlType) -> bool:
    if isinstance(kind, SqlDecimal) and isinstance(target, SqlDecimal):
        return kind.scale <= target.scale and kind.precision - kind.scale <= target.precision - target.scale
    return kind == target
