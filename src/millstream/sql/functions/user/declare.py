"""`@udf`, `@udaf` and `@udtf`: functions of users in Python, typed by their annotations.

    @udf
    def net(price: float, tax: float) -> float:
        '''The price without tax.'''
        return price / (1 + tax)

    @udtf
    def words(text: str) -> list[str]:
        '''The words of a text.'''
        return text.split()

    @udaf("product")
    class Product:
        '''The product of the values.'''

        def initialize(self) -> float:
            return 1.0

        def aggregate(self, state: float, value: float) -> float:
            return state * value

        def merge(self, one: float, other: float) -> float:
            return one * other

An aggregate may have `undo(state, value)`, which lets it work on tables, and `result(state)`. What its `__init__` takes
are constants of the call. NULL arguments give NULL (an aggregate leaves them out, a table function gives no row) unless
the annotation allows None. Several functions of one name are variants of it. A keyword-only parameter `settings` of a
function, and a method `configure(settings)` of an aggregate, get the settings `ksql.functions.<name>.*`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from millstream.sql.functions.declare import Returns
from millstream.sql.functions.user.origin import Origin

_F = TypeVar("_F", bound=Callable[..., Any])

#: Where a module keeps what it declares; a later function of the same name in Python does not hide an earlier one.
DECLARED = "__millstream_functions__"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)


@dataclass(frozen=True)
class UserFunction:
    """What was declared."""

    kind: str
    origin: Origin
    target: Callable[..., Any]
    returns: Returns | None


@overload
def udf(name: _F, /) -> _F: ...
@overload
def udf(name: str | None = None, /, *, returns: Returns | None = None) -> Callable[[_F], _F]: ...
def udf(name: Any = None, /, *, returns: Returns | None = None) -> Any:
    """Declares a scalar function.

    Args:
        name: how SQL calls it; its name in Python when left out.
        returns: the type of the result by those of the arguments, where an annotation cannot say.
    """
    return _declare("udf", name, returns)


@overload
def udtf(name: _F, /) -> _F: ...
@overload
def udtf(name: str | None = None, /, *, returns: Returns | None = None) -> Callable[[_F], _F]: ...
def udtf(name: Any = None, /, *, returns: Returns | None = None) -> Any:
    """Declares a table function: each element of the list it gives is a row.

    Args:
        name: how SQL calls it; its name in Python when left out.
        returns: the type of a row by those of the arguments, where an annotation cannot say.
    """
    return _declare("udtf", name, returns)


@overload
def udaf(name: type[Any], /) -> Any: ...
@overload
def udaf(name: str | None = None, /) -> Callable[[_F], _F]: ...
def udaf(name: Any = None, /) -> Any:
    """Declares an aggregate: a class with `initialize`, `aggregate`, `merge`, and perhaps `result` and `undo`.

    Args:
        name: how SQL calls it; its name in Python when left out.
    """
    return _declare("udaf", name, None)


def _declare(kind: str, name: Any, returns: Returns | None) -> Any:
    if name is not None and not isinstance(name, str):
        _note(kind, name.__name__, name, returns)
        return name

    def decorate(target: Any) -> Any:
        _note(kind, name or target.__name__, target, returns)
        return target

    return decorate


def _note(kind: str, name: str, target: Any, returns: Returns | None) -> None:
    origin = Origin(name, target)
    if not _NAME.match(name):
        raise origin.refuse(f"'{name}' is no name of a function in SQL")
    function = UserFunction(kind, origin, target, returns)
    module = getattr(target, "__globals__", None) or vars(sys.modules[target.__module__])
    # A module that is loaded again declares its functions again.
    kept = [other for other in declared_in(module) if (other.kind, str(other.origin)) != (kind, str(origin))]
    module[DECLARED] = [*kept, function]


def declared_in(names: dict[str, Any]) -> Sequence[UserFunction]:
    """What a module of these names has declared."""
    found: Sequence[UserFunction] = names.get(DECLARED, ())
    return found
