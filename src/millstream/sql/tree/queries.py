"""SELECT and its parts."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from millstream.sql.errors import Location
from millstream.sql.tree.expressions import Expression, TimeUnit


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of a query that is no expression.

    Attributes:
        at: where it was written.
    """

    at: Location | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Duration:
    """`5 MINUTES`."""

    amount: int
    unit: TimeUnit

    @property
    def milliseconds(self) -> int:
        return self.amount * self.unit.value

    def __str__(self) -> str:
        return f"{self.amount} {self.unit.name}"


# What is selected.


@dataclass(frozen=True)
class SingleColumn(Node):
    """`expression [AS alias]`."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True)
class AllColumns(Node):
    """`*`, or `source.*`."""

    source: str | None = None


@dataclass(frozen=True)
class AllFields(Node):
    """`struct -> *`."""

    base: Expression


SelectItem = SingleColumn | AllColumns | AllFields


# Where it comes from.


@dataclass(frozen=True)
class Table(Node):
    """A stream or table by its name, with the name it has in the query (its own when it was given none)."""

    name: str
    alias: str


class JoinKind(enum.Enum):
    """INNER, LEFT, RIGHT and OUTER (FULL)."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    OUTER = "OUTER"


@dataclass(frozen=True)
class Within(Node):
    """`WITHIN before [, after] [GRACE PERIOD grace]`."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True)
class Join(Node):
    """One joined source; the joins of a query are a list, left to right."""

    kind: JoinKind
    right: Table
    criteria: Expression
    within: Within | None = None


# Windows.


@dataclass(frozen=True)
class TumblingWindow(Node):
    """WINDOW TUMBLING (SIZE ..)."""

    size: Duration
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True)
class HoppingWindow(Node):
    """WINDOW HOPPING (SIZE .., ADVANCE BY ..)."""

    size: Duration
    advance: Duration
    retention: Duration | None = None
    grace: Duration | None = None


@dataclass(frozen=True)
class SessionWindow(Node):
    """WINDOW SESSION (gap)."""

    gap: Duration
    retention: Duration | None = None
    grace: Duration | None = None


Window = TumblingWindow | HoppingWindow | SessionWindow


class Emit(enum.Enum):
    """EMIT CHANGES or EMIT FINAL."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True)
class Query(Node):
    """A whole SELECT.

    Attributes:
        emit: None when the clause was left out: at top level that is a pull query.
    """

    select: tuple[SelectItem, ...]
    source: Table
    joins: tuple[Join, ...] = ()
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
