"""How functions are declared.

A module of functions has one `Declarations` named `FUNCTIONS`, and decorates what it offers:

    FUNCTIONS = Declarations("STRING")

    @FUNCTIONS.scalar("len", "(STRING text) -> INTEGER", "(BYTES bytes) -> INTEGER")
    def length(value: str | bytes) -> int:
        '''How long a text is.'''
        return len(value)

The name is written as ksqlDB writes it, since its messages show it; calls find it in any case. Declaring one name
several times adds variants. The decorated function stays what it is. The first line of its docstring is the
variant's description, and that of the first variant the function's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from millstream.sql.errors import SqlError
from millstream.sql.functions.model import Argument, FunctionConfig
from millstream.sql.functions.signature import Signature, parse
from millstream.sql.schema.types import SqlType

#: The type of the result, from the types of the arguments (for DECIMAL, and whatever signatures cannot say).
Returns = Callable[[Sequence[Argument]], SqlType]

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ScalarContext:
    """What a factory of scalar functions may look at: one call, settled.

    Attributes:
        arguments: the types the function gets its arguments in (widened where the signature asks for it);
            None for NULL, for a lambda and for a unit of time.
        returns: the type of the result.
        config: the settings.
    """

    arguments: tuple[SqlType | None, ...]
    returns: SqlType
    config: FunctionConfig


@dataclass(frozen=True)
class ScalarVariant:
    """One variant of a scalar function; `factory` makes the function for a call."""

    signature: Signature
    factory: Callable[[ScalarContext], Callable[..., Any]]
    pass_null: bool
    returns: Returns | None
    description: str


@dataclass(frozen=True)
class AggregateContext:
    """What a factory of aggregates may look at.

    Attributes:
        arguments: the types of the columns, without the constants; None for NULL.
        constants: the values of the constant arguments.
        returns: the result's type by the signature, None where that cannot say (a DECIMAL).
        config: the settings.
    """

    arguments: tuple[SqlType | None, ...]
    constants: tuple[Any, ...]
    returns: SqlType | None
    config: FunctionConfig

    @property
    def column(self) -> SqlType:
        """The type of the first column."""
        first = self.arguments[0]
        if first is None:
            raise SqlError("NULL is no column that can be aggregated: give a column, or CAST(NULL AS a type)")
        return first


@dataclass(frozen=True)
class Aggregation:
    """How an aggregate aggregates; `AggregateCall` says what the functions do.

    Attributes:
        returns: the type of the result; None: what the signature says.
        state: the type of the running aggregate; None: the same as the result's.
    """

    initialize: Callable[[], Any]
    aggregate: Callable[..., Any]
    merge: Callable[[Any, Any], Any]
    result: Callable[[Any], Any] | None = None
    undo: Callable[..., Any] | None = None
    returns: SqlType | None = None
    state: SqlType | None = None


@dataclass(frozen=True)
class AggregateVariant:
    """One variant of an aggregate."""

    signature: Signature
    factory: Callable[[AggregateContext], Aggregation]
    description: str


@dataclass(frozen=True)
class TableVariant:
    """One variant of a table function; its signature's result is the type of one row."""

    signature: Signature
    function: Callable[..., Any]
    returns: Returns | None
    description: str


@dataclass
class Declarations:
    """The functions of one module.

    Args:
        category: what SHOW FUNCTIONS lists them under.
        author: whose functions they are.
    """

    category: str
    author: str = "Millstream"
    scalars: dict[str, list[ScalarVariant]] = field(default_factory=dict)
    aggregates: dict[str, list[AggregateVariant]] = field(default_factory=dict)
    tables: dict[str, list[TableVariant]] = field(default_factory=dict)

    def scalar(
        self, name: str, *signatures: str, pass_null: bool = False, returns: Returns | None = None
    ) -> Callable[[_F], _F]:
        """Declares a scalar function.

        Args:
            name: its name.
            signatures: what it takes and gives.
            pass_null: whether it is called when an argument is NULL; else the result is NULL.
            returns: the type of the result, where the signatures cannot say.
        """

        def decorate(function: _F) -> _F:
            make = _Always(function)
            for signature in signatures:
                variant = ScalarVariant(parse(signature), make, pass_null, returns, _description(function))
                self.scalars.setdefault(name, []).append(variant)
            return function

        return decorate

    def scalar_factory(
        self, name: str, *signatures: str, pass_null: bool = False, returns: Returns | None = None
    ) -> Callable[[_F], _F]:
        """Declares a scalar function that depends on the types or the settings of a call.

        What is decorated takes a `ScalarContext` and gives the function for that call.
        """

        def decorate(factory: _F) -> _F:
            for signature in signatures:
                variant = ScalarVariant(parse(signature), factory, pass_null, returns, _description(factory))
                self.scalars.setdefault(name, []).append(variant)
            return factory

        return decorate

    def aggregate(self, name: str, *signatures: str) -> Callable[[_F], _F]:
        """Declares an aggregate: what is decorated takes an `AggregateContext` and gives an `Aggregation`.

        The parameters after a `;` in a signature are constants.
        """

        def decorate(factory: _F) -> _F:
            for signature in signatures:
                variant = AggregateVariant(parse(signature), factory, _description(factory))
                self.aggregates.setdefault(name, []).append(variant)
            return factory

        return decorate

    def table_function(self, name: str, *signatures: str, returns: Returns | None = None) -> Callable[[_F], _F]:
        """Declares a table function: what is decorated gives a list, or None; `returns` is the type of one row.

        It is called with NULLs too.
        """

        def decorate(function: _F) -> _F:
            for signature in signatures:
                variant = TableVariant(parse(signature), function, returns, _description(function))
                self.tables.setdefault(name, []).append(variant)
            return function

        return decorate


@dataclass(frozen=True)
class _Always:
    """A factory that gives the same function for every call."""

    function: Callable[..., Any]

    def __call__(self, context: ScalarContext) -> Callable[..., Any]:
        return self.function


def _description(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().partition("\n")[0]
