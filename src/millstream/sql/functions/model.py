"""What the registry answers: a call whose types are settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.sql.schema.types import SqlType

#: Settings of functions: `ksql.functions.collect_list.limit` and the like.
FunctionConfig = Mapping[str, Any]


@dataclass(frozen=True)
class LambdaArgument:
    """A lambda among the arguments: its result's type follows from the types of its parameters."""

    arity: int
    infer: Callable[[Sequence[SqlType]], SqlType | None]


@dataclass(frozen=True)
class IntervalArgument:
    """A unit of time among the arguments."""


#: The type of an argument: None for NULL.
Argument = SqlType | LambdaArgument | IntervalArgument | None


@dataclass(frozen=True)
class LambdaType:
    """What a lambda gets and gives, once settled."""

    parameters: tuple[SqlType, ...]
    returns: SqlType


@dataclass(frozen=True)
class ScalarCall:
    """A scalar function, its variant chosen.

    Attributes:
        function: takes the arguments in their Python form (a lambda as a callable, a unit as a `TimeUnit`).
        parameters: the type each argument must be given in; the compiler widens numbers. None: as it is.
        pass_null: whether the function is called when an argument is NULL; else the result is NULL.
    """

    function: Callable[..., Any]
    parameters: tuple[SqlType | LambdaType | None, ...]
    returns: SqlType
    pass_null: bool = False


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function, its variant chosen and its constant arguments taken.

    Attributes:
        columns: how many of the call's arguments are columns; the constants after them are in the closures.
        state: the type of the running aggregate, which stores keep.
        initialize: the aggregate of nothing.
        aggregate: `(aggregate, *arguments)` to the new aggregate; arguments may be None.
        merge: two aggregates to one (sessions), `(key, left, right)` without the key.
        result: the aggregate to the value; None when it is the same.
        undo: `(aggregate, *arguments)`, the reverse of `aggregate`; None when it cannot be undone.
    """

    columns: int
    parameters: tuple[SqlType | None, ...]
    state: SqlType
    returns: SqlType
    initialize: Callable[[], Any]
    aggregate: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] | None = None
    undo: Callable[..., Any] | None = None


@dataclass(frozen=True)
class TableCall:
    """A table function, its variant chosen: gives a list, or None."""

    function: Callable[..., Any]
    parameters: tuple[SqlType | None, ...]
    returns: SqlType


@dataclass(frozen=True)
class ArgumentDescription:
    """A parameter of a variant."""

    name: str
    type: str
    is_variadic: bool = False


@dataclass(frozen=True)
class VariantDescription:
    """A variant of a function."""

    arguments: tuple[ArgumentDescription, ...]
    returns: str
    description: str


@dataclass(frozen=True)
class FunctionDescription:
    """What SHOW FUNCTIONS and DESCRIBE FUNCTION tell."""

    name: str
    kind: str
    category: str
    description: str
    author: str = "Millstream"
    variants: tuple[VariantDescription, ...] = field(default=())
