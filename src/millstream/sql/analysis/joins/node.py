"""Joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.joins.conditions import JoinCondition
from millstream.sql.analysis.joins.sides import JoinedNode, JoiningNode
from millstream.sql.analysis.joins.steps import Joining
from millstream.sql.analysis.names import Aliases, joined_name
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.query.projection import Projection
from millstream.sql.analysis.schemas import Typed, checked, typed
from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.analysis.wording import keys_missing
from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Encoding
from millstream.sql.schema.types import quote
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.statements import SourceKind


@dataclass(frozen=True)
class JoinKey:
    """What the key of a join is.

    Attributes:
        column: the column that stands for it; None when there is none, and a column is made for it.
        candidates: all columns that could stand for it.
        foreign: the expression over the left table that gives keys of the right; the result has the left table's key.
    """

    column: ColumnReference | None = None
    candidates: tuple[ColumnReference, ...] = ()
    foreign: Expression | None = None

    @property
    def synthetic(self) -> bool:
        return self.column is None and self.foreign is None


class JoinNode(JoinedNode):
    """Two sides become one."""

    def __init__(
        self,
        name: str,
        condition: JoinCondition,
        key: JoinKey,
        sides: tuple[JoiningNode, JoiningNode],
        default_key: Encoding,
        *,
        last: bool,
    ) -> None:
        """Makes the node.

        Args:
            name: of the step.
            condition: what is joined, and how.
            key: of the result.
            sides: what was joined before, or the first source; and the source that is added.
            default_key: how keys are encoded when no source has any.
            last: no further join follows.
        """
        left, right = sides
        both_tables = left.kind is right.kind is SourceKind.TABLE
        self.kind = SourceKind.TABLE if both_tables else SourceKind.STREAM
        self.alias = None
        self.inputs = sides
        self._name = name
        self._condition = condition
        self._key = key
        self._left = left
        self._right = right
        self._default = KeyFormat(default_key)
        self._last = last
        self.schema = self._make_schema()

    def _make_schema(self) -> Schema:
        left, right = self._left.schema, self._right.schema
        row = [*typed(left.value), *typed(right.value)]
        if self._key.foreign is not None:
            return checked(Schema.of(typed(left.key), row))
        key = self._key_column()
        if all(name != key[0] for name, _ in row):
            row.append(key)
        return checked(Schema.of([key], row))

    def _key_column(self) -> Typed:
        left, right = self._left.schema.key, self._right.schema.key
        if len(left) != 1 or len(right) != 1:
            raise SqlError("Multi-key joins not supported")
        if left[0].type != right[0].type:
            raise SqlError(f"Invalid join. Key types differ: {left[0].type} vs {right[0].type}")
        column = self._key.column
        if column is not None:
            return _joined(column), left[0].type
        schemas = (source.source.schema for source in self.sources())
        return Aliases(schemas).synthetic_key(), left[0].type

    def resolve_key(self) -> None:
        self.agree_on(self.preferred_key() or self._default_key())

    def preferred_key(self) -> KeyFormat | None:
        return self._left.preferred_key() or self._right.preferred_key()

    def agree_on(self, key: KeyFormat) -> None:
        self._left.agree_on(key)
        self._right.agree_on(key)

    def _default_key(self) -> KeyFormat:
        keys = (KeyFormat.of(source.source) for source in self.sources())
        return next((key for key in keys if key.name != "NONE"), self._default)

    def star(self, alias: str | None) -> list[str]:
        names = [name for side in self._sides() if alias is None or alias == side.alias for name in side.star(alias)]
        if alias is None and self._key.synthetic and self._last:
            return [self.schema.key[0].name, *names]
        return names

    def _sides(self) -> list[Node]:
        """The sources with their prefixes, left to right."""
        return [side for node in self.inputs for side in _sides_of(node)]

    def unknown(self, columns: frozenset[ColumnReference]) -> frozenset[ColumnReference]:
        if self._last and self._key.synthetic:
            columns -= {ColumnReference(self.schema.key[0].name)}
        return self._left.unknown(columns) & self._right.unknown(columns)

    def check_keys(self, sink: str, projection: Projection) -> None:
        if self._key.foreign is not None:
            self._check_left_keys(projection)
            return
        if self._key.synthetic:
            key = ColumnReference(self.schema.key[0].name)
            if not projection.contains(key):
                raise keys_missing(sink, "join expression", [key], all_needed=False, synthetic=True)
            return
        candidates = self._key.candidates
        if not any(_is_selected(column, projection) for column in candidates):
            raise keys_missing(sink, "join expression", candidates, all_needed=False)

    def _check_left_keys(self, projection: Projection) -> None:
        left = self.sources()[0]
        keys = [ColumnReference(column.name, left.alias) for column in left.source.schema.key]
        missing = [key.name for key in keys if not _is_selected(key, projection)]
        if missing:
            noun = "column" if len(missing) == 1 else "columns"
            raise SqlError(
                f"Primary key {noun} missing in projection. For foreign-key table-table joins, the projection must "
                f"include all primary key columns from the left input table ({quote(left.alias)}). "
                f"Missing {noun}: {', '.join(map(quote, missing))}."
            )

    def partitions(self, environment: Environment) -> int:
        return self._right.partitions(environment)

    def build(self, environment: Environment) -> Relation:
        if self._key.foreign is None:
            self._check_partitions(environment)
        condition = self._condition
        joining = Joining(
            (self._name,),
            condition.kind,
            condition.within,
            self.schema,
            (self._left.value_format, self._right.value_format),
            self._key.foreign,
        )
        return joining.apply(self._left.build(environment), self._right.build(environment))

    def _check_partitions(self, environment: Environment) -> None:
        left, right = self._left.partitions(environment), self._right.partitions(environment)
        if left == right:
            return
        left_name, right_name = (quote(side.sources()[0].alias) for side in (self._left, self._right))
        raise SqlError(
            f"Can't join {left_name} with {right_name} since the number of partitions don't match. "
            f"{left_name} partitions = {left}; {right_name} partitions = {right}. "
            "Please repartition either one so that the number of partitions match."
        )


def _sides_of(node: Node) -> Sequence[Node]:
    current = node
    while not isinstance(current, JoinNode):
        if not isinstance(current, JoiningNode):
            return [node]
        (current,) = current.inputs
    return current._sides()


def _is_selected(column: ColumnReference, projection: Projection) -> bool:
    return projection.contains(column) or projection.contains(ColumnReference(_joined(column)))


def _joined(column: ColumnReference) -> str:
    return column.name if column.source is None else joined_name(column.source, column.name)
