"""What a step has become: a stream or table of the DSL, and what is known of its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.streams.grouped import KGroupedStream
from millstream.dsl.streams.grouped_table import KGroupedTable
from millstream.dsl.streams.kstream import KStream
from millstream.dsl.streams.ktable import KTable
from millstream.serdes import Serde, Serdes
from millstream.sql.errors import SqlError
from millstream.sql.expressions import compile_predicate, compile_row
from millstream.sql.formats import SchemaRegistry, internal_encoding, serde
from millstream.sql.functions.registry import Registry
from millstream.sql.physical.kept import Kept
from millstream.sql.physical.packed import PackedSerde
from millstream.sql.plan.steps import Step
from millstream.sql.processing_log import ProcessingLog
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.formats import Encoding, Formats, WindowInfo, WindowType
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import Expression

#: Formats that give back every row as it was written: stores need not use them.
_LOSSLESS = {"JSON", "JSON_SR", "AVRO", "KAFKA"}

Row = tuple[Any, ...]
AnyStream = KStream[Any, Any]
AnyTable = KTable[Any, Any]


@dataclass(frozen=True)
class Flow:
    """What a step has become.

    Attributes:
        schema: of its rows.
        window: of its keys.
        kept: where a table's rows are kept, here or by a step before; None: nowhere.
    """

    dsl: AnyStream | AnyTable | KGroupedStream[Any, Any] | KGroupedTable[Any, Any]
    schema: Schema
    window: WindowInfo | None = None
    kept: Kept | None = None

    @property
    def stream(self) -> AnyStream:
        assert isinstance(self.dsl, KStream)  # noqa: S101 - the planner puts steps together
        return self.dsl

    @property
    def table(self) -> AnyTable:
        assert isinstance(self.dsl, KTable)  # noqa: S101 - the planner puts steps together
        return self.dsl

    def then(self, dsl: AnyStream | AnyTable, step: Step, **changes: Any) -> Flow:
        """What comes after one more step."""
        return replace(self, dsl=dsl, schema=step.schema, **changes)


@dataclass(frozen=True)
class Surroundings:
    """What all steps of a query are built with."""

    query_id: str
    builder: StreamsBuilder
    functions: Registry
    settings: Settings
    registry: SchemaRegistry | None
    log: ProcessingLog

    def rows(
        self,
        expressions: Sequence[Expression],
        schema: Schema,
        step: Step,
        names: Sequence[str] | None = None,
        *,
        tombstones: bool = False,
    ) -> Callable[[Row], Row]:
        """A function from a row to the values of expressions; with `tombstones` from none to none, too."""
        return compile_row(
            expressions,
            schema,
            self.functions,
            log=self.log,
            logger=self.logger(step),
            config=self.settings,
            names=names,
            tombstones=tombstones,
        )

    def predicate(self, condition: Expression, schema: Schema, step: Step) -> Callable[[Any, Row | None], bool]:
        """A function from a key and its row to whether a condition is true."""
        return compile_predicate(
            condition, schema, self.functions, log=self.log, logger=self.logger(step), config=self.settings
        )

    def logger(self, step: Step) -> str:
        """The name under which errors of a step are logged."""
        return ".".join(("processing", self.query_id, *step.context))

    def key_serde(self, encoding: Encoding, schema: Schema, window: WindowInfo | None, topic: str) -> Serde[Any]:
        """The serde of keys."""
        inner = serde(encoding, schema.key, is_key=True, registry=self.registry, topic=topic)
        if window is None:
            return inner
        if window.type is WindowType.SESSION:
            return Serdes.session_windowed(inner)
        # A source may leave the size out: then windows have a start, and nobody knows their end.
        return Serdes.time_windowed(inner, timedelta(milliseconds=window.size_ms or 2**53))

    def value_serde(self, encoding: Encoding, columns: Sequence[Column], topic: str) -> Serde[Any]:
        """The serde of a topic's values."""
        return serde(encoding, columns, is_key=False, registry=self.registry, topic=topic)

    def packed_serde(self, columns: Sequence[Column]) -> Serde[Any]:
        """The serde of rows that no format has a say in."""
        return PackedSerde(tuple(columns), "packed row")

    def kept_serde(self, formats: Formats, columns: Sequence[Column], name: str) -> Serde[Any]:
        """The serde of rows in stores and repartition topics.

        Some formats change rows (DELIMITED has no empty text, PROTOBUF no NULL), and ksqlDB shows it.
        """
        if formats.value.format.name in _LOSSLESS:
            return PackedSerde(tuple(columns), formats.value.format.name)
        return self.value_serde(internal_encoding(formats.value), columns, name)


def delta(milliseconds: int) -> timedelta:
    """A duration.

    Raises:
        SqlError: nobody could wait so long.
    """
    try:
        return timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise SqlError(f"The duration is too long: {milliseconds} MILLISECONDS") from None


def name_of(step: Step, *more: str) -> str:
    """The name of what a step makes, from its context."""
    return "-".join((*step.context, *more))
