"""The steps of an aggregation: prepare the arguments, group, aggregate, filter, select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.groups.grouping import Grouping
from millstream.sql.analysis.names import aggregate_name, argument_name
from millstream.sql.analysis.schemas import checked, typed
from millstream.sql.analysis.steps.filters import filtered
from millstream.sql.analysis.steps.rekeying import key_columns, repartition_needed
from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.analysis.steps.selecting import select
from millstream.sql.analysis.windows import window_info
from millstream.sql.analysis.wording import listed
from millstream.sql.errors import SqlError
from millstream.sql.expressions import aggregate_call
from millstream.sql.formats import check, key_encoding
from millstream.sql.functions.model import AggregateCall
from millstream.sql.functions.registry import Registry
from millstream.sql.plan.steps import Selected, StreamAggregate, StreamGroupBy, TableAggregate, TableGroupBy
from millstream.sql.schema.columns import WINDOW_BOUNDS, Column, Schema
from millstream.sql.schema.formats import FormatInfo, Formats
from millstream.sql.tree.expressions import ColumnReference, Expression, FunctionCall
from millstream.sql.tree.queries import Emit, Window
from millstream.sql.tree.statements import SourceKind
from millstream.sql.tree.walk import rewrite


@dataclass(frozen=True)
class Aggregation:
    """What an aggregation does.

    Attributes:
        groups: what is grouped by.
        grouping: the aggregates and the columns they need.
        having: HAVING.
        selected: the columns of the rows in the end; aggregates among them are still calls.
        key_names: the names of the key columns in the end.
        final: EMIT FINAL.
    """

    groups: tuple[Expression, ...]
    grouping: Grouping
    having: Expression | None
    selected: Sequence[Selected]
    key_names: Sequence[str]
    window: Window | None
    final: bool

    def apply(self, source: Relation, value: FormatInfo, environment: Environment) -> Relation:
        """The steps over a source.

        Args:
            source: what is aggregated.
            value: how rows are encoded on the way.
            environment: for types and functions.

        Raises:
            SqlError: the source cannot be aggregated in that way.
        """
        names = [column.name for column in source.schema.key]
        expansion = _expansion(self.grouping)
        prepared = select(source, names, expansion, ("Aggregate", "Prepare"), value, environment)
        calls = [_with_columns(call, expansion, prepared.schema, environment) for call in self.grouping.aggregates]
        grouped = self._group(prepared, value, environment)
        aggregated = self._aggregate(grouped, calls, value, environment)
        replaced = _Replacement(environment.functions)
        columns = [replace(column, expression=replaced(column.expression)) for column in self.selected]
        if self.having is not None:
            aggregated = filtered(aggregated, replaced(self.having), ("Aggregate", "HavingFilter"))
        return select(aggregated, self.key_names, columns, ("Aggregate", "Project"), value, environment)

    def _group(self, source: Relation, value: FormatInfo, environment: Environment) -> Relation:
        context = ("Aggregate", "GroupBy")
        # The key of a windowed source is a key in a window: grouping by it alone makes another key.
        keeps_key = not source.is_table and source.key.window is None
        if keeps_key and not repartition_needed(source.schema, self.groups):
            return source.then(StreamGroupBy(context, source.schema, source.step, source.key.internal(value)))
        types = environment.known_types(self.groups, source.schema)
        keys = key_columns(self.groups, types, source.schema)
        schema = checked(Schema.of(keys, typed(source.schema.value)))
        old = environment.default_key if source.key.name == "NONE" else source.key.encoding
        key = KeyFormat(key_encoding(old, types, may_change=True))
        check(key.encoding, schema.key, is_key=True)
        make = TableGroupBy if source.is_table else StreamGroupBy
        return source.then(make(context, schema, source.step, key.internal(value), self.groups), key=key)

    def _aggregate(
        self, source: Relation, calls: Sequence[FunctionCall], value: FormatInfo, environment: Environment
    ) -> Relation:
        scope = environment.scope(source.schema)
        resolved = [aggregate_call(call, scope) for call in calls]
        if source.is_table:
            self._check_table(resolved)
        required = tuple(column.name for column in self.grouping.required)
        carried = [column for name in required for column in source.schema.value if column.name == name]
        results = [(aggregate_name(index), call.returns) for index, call in enumerate(resolved)]
        bounds = WINDOW_BOUNDS.items() if self.window is not None else ()
        schema = checked(Schema.of(typed(source.schema.key), [*typed(carried), *results, *bounds]))
        key = source.key if self.window is None else replace(source.key, window=window_info(self.window))
        formats = key.internal(value)
        states = [Column(aggregate_name(index), call.state) for index, call in enumerate(resolved)]
        _check_states((*carried, *states), formats)
        context = ("Aggregate", "Aggregate")
        if source.is_table:
            step = TableAggregate(context, schema, source.step, formats, required, tuple(calls))
            return source.then(step, kind=SourceKind.TABLE, key=key)
        emit = Emit.FINAL if self.final else None
        return source.then(
            StreamAggregate(context, schema, source.step, formats, required, tuple(calls), self.window, emit),
            kind=SourceKind.TABLE,
            key=key,
        )

    def _check_table(self, calls: Sequence[AggregateCall]) -> None:
        if self.window is not None:
            raise SqlError("Windowing not supported for table aggregations.")
        written = zip(calls, self.grouping.aggregates, strict=True)
        names = list(dict.fromkeys(call.name for resolved, call in written if resolved.undo is None))
        if names:
            plural = "" if len(names) == 1 else "s"
            raise SqlError(
                f"The aggregation function{plural} {listed(names, ' and ')} cannot be applied to a table source, only "
                "to a stream source."
            )


def _expansion(grouping: Grouping) -> list[Selected]:
    """The columns that grouping and aggregates need, arguments that are no columns among them."""
    expansion: list[Selected] = []
    seen: set[Expression] = set()
    for expression in (*grouping.required, *grouping.arguments):
        if expression in seen:
            continue
        seen.add(expression)
        name = expression.name if isinstance(expression, ColumnReference) else argument_name(len(expansion))
        expansion.append(Selected(name, expression))
    return expansion


def _with_columns(
    call: FunctionCall, expansion: Sequence[Selected], schema: Schema, environment: Environment
) -> FunctionCall:
    """A call on the prepared columns. Its constants stay as they are."""
    names = {column.expression: column.name for column in expansion}
    factory = environment.functions.aggregate(call.name)
    columns = [ColumnReference(names[argument]) for argument in call.arguments]
    types = [environment.type_of(column, schema) for column in columns]
    taken = len(columns) - (0 if factory is None else factory.constants(types))
    return replace(call, arguments=(*columns[:taken], *call.arguments[taken:]))


def _check_states(columns: Sequence[Column], formats: Formats) -> None:
    try:
        check(formats.value, columns, is_key=False)
    except SqlError as error:
        raise SqlError(
            "One of the functions used in the statement has an intermediate type that the value format can not "
            "handle. Please remove the function or change the format."
        ) from error


class _Replacement:
    """Replaces calls of aggregates, in the order of the whole query, by the columns with their results."""

    def __init__(self, functions: Registry) -> None:
        self._functions = functions
        self._count = 0

    def __call__(self, expression: Expression) -> Expression:
        return rewrite(expression, self._column)

    def _column(self, expression: Expression) -> Expression | None:
        if not isinstance(expression, FunctionCall) or not self._functions.is_aggregate(expression.name):
            return None
        self._count += 1
        return ColumnReference(aggregate_name(self._count - 1))
