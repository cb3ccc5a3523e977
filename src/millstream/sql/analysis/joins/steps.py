"""The steps of joins."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.errors import SqlError
from millstream.sql.formats import check
from millstream.sql.plan.steps import ForeignKeyJoin, StreamStreamJoin, StreamTableJoin, TableTableJoin
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import FormatInfo, WindowType
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.queries import JoinKind, Within


@dataclass(frozen=True)
class Joining:
    """What a join does.

    Attributes:
        schema: of the result.
        values: how the rows of the left and the right side are encoded on the way.
        foreign: the expression over the left table that gives keys of the right one.
    """

    context: tuple[str, ...]
    kind: JoinKind
    within: Within | None
    schema: Schema
    values: tuple[FormatInfo, FormatInfo]
    foreign: Expression | None = None

    def apply(self, left: Relation, right: Relation) -> Relation:
        """Joins two sides.

        Raises:
            SqlError: there is no such join, or the keys do not fit.
        """
        if left.is_table:
            return self._tables(left, right)
        _check_keys(left.key, right.key)
        return self._stream_with_table(left, right) if right.is_table else self._streams(left, right)

    @property
    def _key_name(self) -> str:
        return self.schema.key[0].name

    def _streams(self, left: Relation, right: Relation) -> Relation:
        within = self.within
        if within is None:
            raise SqlError(
                "Stream-Stream joins must have a WITHIN clause specified. None was provided. To learn about how to "
                "specify a WITHIN clause with a stream-stream join, please visit: "
                "https://docs.confluent.io/current/ksql/docs/syntax-reference.html#create-stream-as-select"
            )
        formats = left.key.internal(self.values[0])
        check(formats.key, left.schema.key, is_key=True)
        step = StreamStreamJoin(
            self.context,
            self.schema,
            self.kind,
            self._key_name,
            left.step,
            right.step,
            formats,
            left.key.internal(self.values[1]),
            within.before.milliseconds,
            within.after.milliseconds,
            None if within.grace is None else within.grace.milliseconds,
        )
        return left.then(step)

    def _stream_with_table(self, left: Relation, right: Relation) -> Relation:
        if self.within is not None:
            raise SqlError(
                "A window definition was provided for a Stream-Table join. These joins are not windowed. "
                "Please drop the window definition (ie. the WITHIN clause) and try to execute your join again."
            )
        if self.kind not in (JoinKind.INNER, JoinKind.LEFT):
            raise SqlError(f"Invalid join type encountered: {join_name(self.kind)}")
        formats = left.key.internal(self.values[0])
        check(formats.key, left.schema.key, is_key=True)
        return left.then(
            StreamTableJoin(self.context, self.schema, self.kind, self._key_name, left.step, right.step, formats)
        )

    def _tables(self, left: Relation, right: Relation) -> Relation:
        if self.within is not None:
            raise SqlError(
                "A window definition was provided for a Table-Table join. These joins are not windowed. Please drop "
                "the window definition (i.e. the WITHIN clause) and try to execute your Table-Table join again."
            )
        if self.foreign is not None:
            return self._foreign(left, right, self.foreign)
        _check_keys(left.key, right.key)
        return left.then(TableTableJoin(self.context, self.schema, self.kind, self._key_name, left.step, right.step))

    def _foreign(self, left: Relation, right: Relation, expression: Expression) -> Relation:
        if self.kind is JoinKind.RIGHT:
            raise SqlError("RIGHT OUTER JOIN on a foreign key is not supported")
        formats = left.key.internal(self.values[0])
        return left.then(
            ForeignKeyJoin(self.context, self.schema, self.kind, left.step, right.step, formats, expression)
        )


def join_name(kind: JoinKind) -> str:
    """How messages call a kind of join."""
    return {
        JoinKind.INNER: "[INNER] JOIN",
        JoinKind.LEFT: "LEFT [OUTER] JOIN",
        JoinKind.RIGHT: "RIGHT [OUTER] JOIN",
        JoinKind.OUTER: "[FULL] OUTER JOIN",
    }[kind]


def _check_keys(left: KeyFormat, right: KeyFormat) -> None:
    if left.encoding != right.encoding:
        raise SqlError(f"Key format mismatch in join. left: {left.encoding.format}, right: {right.encoding.format}")
    if (left.window is None) != (right.window is None):
        raise SqlError(f"Key format windowing mismatch in join. left: {left.window}, right: {right.window}")
    if _is_session(left) != _is_session(right):
        raise SqlError("Key format window type mismatch in join.")


def _is_session(key: KeyFormat) -> bool:
    return key.window is not None and key.window.type is WindowType.SESSION
