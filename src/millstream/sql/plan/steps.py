"""The steps of a persistent query.

A step takes records from its source step(s) and gives records of its `schema`: the key is the tuple of the schema's key
columns (`Windowed` around it after a window, None where the record has no key), the value is the *row*, the tuple of
the schema's value columns, or None for a tombstone. Expressions of a step only refer to columns of the row of the step
before it, by unqualified name: a source step appends to the columns of the record's value the header columns, the
pseudo columns, the key columns and, when windowed, the window bounds. `Select` drops them again.

The names of internal topics and stores come from `context`: `("Aggregate", "GroupBy")` gives
`Aggregate-GroupBy-repartition`.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Formats, TimestampColumn, WindowInfo
from millstream.sql.tree.expressions import Expression, FunctionCall
from millstream.sql.tree.queries import Emit, JoinKind, Window


@dataclass(frozen=True)
class Step:
    """Something done to records."""

    context: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True)
class Selected:
    """A column that is made: `expression AS name`."""

    name: str
    expression: Expression


# Sources. `source_schema` is the schema of the topic; `schema` that of the rows they give.


@dataclass(frozen=True)
class StreamSource(Step):
    """A topic read as a stream."""

    topic: str
    formats: Formats
    source_schema: Schema
    timestamp: TimestampColumn | None = None
    window: WindowInfo | None = None


@dataclass(frozen=True)
class TableSource(Step):
    """A topic read as a table.

    Its rows are kept in `store_formats`, which are the topic's formats without a schema that the user chose for the
    topic (`schemaId`): the rows have more columns than that.
    """

    topic: str
    formats: Formats
    source_schema: Schema
    timestamp: TimestampColumn | None = None
    window: WindowInfo | None = None
    store_formats: Formats | None = None


# One to one.


@dataclass(frozen=True)
class StreamFilter(Step):
    """WHERE of a stream."""

    source: Step
    condition: Expression


@dataclass(frozen=True)
class TableFilter(Step):
    """WHERE or HAVING of a table."""

    source: Step
    condition: Expression


@dataclass(frozen=True)
class StreamSelect(Step):
    """A projection: `selected` is the row; the key columns are renamed by the schema only."""

    source: Step
    selected: tuple[Selected, ...]


@dataclass(frozen=True)
class TableSelect(Step):
    """A projection of a table. With `formats` its result is kept in a store, if what it comes from has none."""

    source: Step
    selected: tuple[Selected, ...]
    formats: Formats | None = None


@dataclass(frozen=True)
class StreamFlatMap(Step):
    """Table functions in lockstep: appends KSQL_SYNTH_n columns to the row."""

    source: Step
    functions: tuple[FunctionCall, ...]


# New keys.


@dataclass(frozen=True)
class StreamSelectKey(Step):
    """PARTITION BY, and what joins do before: the key is made of expressions. The row gets what the schema has more."""

    source: Step
    keys: tuple[Expression, ...]
    formats: Formats


@dataclass(frozen=True)
class TableSelectKey(Step):
    """PARTITION BY of a table."""

    source: Step
    keys: tuple[Expression, ...]
    formats: Formats


# Aggregation.


@dataclass(frozen=True)
class StreamGroupBy(Step):
    """GROUP BY expressions: through a repartition topic unless the key stays the same (then `keys` is empty)."""

    source: Step
    formats: Formats
    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class TableGroupBy(Step):
    """GROUP BY of a table: always through a repartition topic."""

    source: Step
    formats: Formats
    keys: tuple[Expression, ...]


@dataclass(frozen=True)
class StreamAggregate(Step):
    """Aggregates of a grouped stream, without or with a window.

    The row is the `required` columns (of the latest record), then one column KSQL_AGG_VARIABLE_n per aggregate;
    windowed ones have WINDOWSTART and WINDOWEND at the end. The arguments of `aggregates` are columns of the source's
    row, followed by the literals that the function takes as constants. `emit` FINAL: windows give one result, when they
    close (as Kafka Streams' EmitStrategy.onWindowClose).
    """

    source: Step
    formats: Formats
    required: tuple[str, ...]
    aggregates: tuple[FunctionCall, ...]
    window: Window | None = None
    emit: Emit | None = None


@dataclass(frozen=True)
class TableAggregate(Step):
    """Aggregates of a grouped table: can undo."""

    source: Step
    formats: Formats
    required: tuple[str, ...]
    aggregates: tuple[FunctionCall, ...]


@dataclass(frozen=True)
class TableSuppress(Step):
    """EMIT FINAL: only what a closed window ended with."""

    source: Step
    formats: Formats
    emit: Emit


# Joins. The row is the left row, then the right row, then (where the schema says so) the synthetic key column.


@dataclass(frozen=True)
class StreamStreamJoin(Step):
    """Streams joined within a window of time."""

    kind: JoinKind
    key_column: str
    left: Step
    right: Step
    left_formats: Formats
    right_formats: Formats
    before_ms: int
    after_ms: int
    grace_ms: int | None


@dataclass(frozen=True)
class StreamTableJoin(Step):
    """A stream enriched by a table."""

    kind: JoinKind
    key_column: str
    left: Step
    right: Step
    formats: Formats


@dataclass(frozen=True)
class TableTableJoin(Step):
    """Tables joined on their primary keys."""

    kind: JoinKind
    key_column: str
    left: Step
    right: Step


@dataclass(frozen=True)
class ForeignKeyJoin(Step):
    """A table joined with the table whose primary key an expression over its row gives."""

    kind: JoinKind
    left: Step
    right: Step
    formats: Formats
    foreign_key: Expression


# Sinks.


@dataclass(frozen=True)
class StreamSink(Step):
    """Where a stream is written."""

    source: Step
    topic: str
    formats: Formats
    timestamp: TimestampColumn | None = None


@dataclass(frozen=True)
class TableSink(Step):
    """Where a table is written."""

    source: Step
    topic: str
    formats: Formats
    timestamp: TimestampColumn | None = None


@dataclass(frozen=True)
class QueryPlan:
    """A persistent query, planned.

    Attributes:
        query_id: CSAS_NAME_0 and the like.
        sources: the names of the streams and tables it reads.
        sink: the name of the stream or table it writes; None for a transient query.
        window: the window of the sink's keys.
    """

    query_id: str
    sources: tuple[str, ...]
    sink: str | None
    step: Step
    window: WindowInfo | None = None
