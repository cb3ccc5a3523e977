"""The functions users give: how many arguments they take, found out when the topology is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from millstream.errors import TopologyError, describe_callable

AnyFunction = Callable[..., Any]


def checked(function: AnyFunction, what: str, *parameters: str) -> AnyFunction:
    """The function, if it can be called with these parameters."""
    if not takes(function, len(parameters), what):
        raise _wrong_arity(function, what, (parameters,))
    return function


def takes_key(function: AnyFunction, what: str, *parameters: str) -> bool:
    """Whether a function wants the key before the given parameters.

    A function that can be called both ways (`*args`, defaults) gets no key.
    """
    if takes(function, len(parameters), what):
        return False
    if takes(function, len(parameters) + 1, what):
        return True
    raise _wrong_arity(function, what, (parameters, ("key", *parameters)))


def with_key(function: AnyFunction, what: str, *parameters: str) -> AnyFunction:
    """The function in a form that takes the key first."""
    if takes_key(function, what, *parameters):
        return function
    if len(parameters) == 1:
        return lambda key, value: function(value)
    return lambda key, left, right: function(left, right)


def takes(function: AnyFunction, count: int, what: str) -> bool:
    """Whether a function can be called with that many positional arguments."""
    if not callable(function):
        raise TopologyError(
            f"{what} needs a function", detail=f"it was given {function!r}", hint="give a function or a lambda"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions do not tell
        return True
    try:
        signature.bind(*([None] * count))
    except TypeError:
        return False
    return True


def check_store_names(stores: tuple[Any, ...]) -> None:
    """Processors are connected to stores by name."""
    for store in stores:
        if not isinstance(store, str):
            raise TopologyError(
                "processors are connected to stores by name",
                detail=f"got {store!r}",
                hint="add the store with StreamsBuilder.add_state_store(...) and give its name",
            )


def _wrong_arity(function: AnyFunction, what: str, wanted: tuple[tuple[str, ...], ...]) -> TopologyError:
    forms = " or ".join(f"({', '.join(parameters)})" for parameters in wanted)
    return TopologyError(
        f"{what} cannot call {describe_callable(function)}",
        detail=f"the function takes {inspect.signature(function)}, {what} calls it with {forms}",
        hint=f"write it as {forms}",
    )
