"""Serdes that nobody gave: the configuration's default, or an error that says where the data comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from millstream.errors import SerdeError, describe_callable
from millstream.serdes.deferred import DeferredSerde
from millstream.serdes.serde import AnySerde

Part = Literal["key", "value"]
Make = Callable[[AnySerde | None, AnySerde | None], AnySerde | None]


class UnknownSerde(DeferredSerde):
    """Stands where a serde should be, until the configuration is known.

    Args:
        part: what it is a serde of.
        origin: where the data comes from, as the user wrote it: `map_values(<lambda> at orders.py:14)`.
        option: what would give one where it is needed: `Produced(value=...)`.
        make: makes the serde of the configured defaults.
    """

    def __init__(self, part: Part, origin: str, option: str, make: Make) -> None:
        super().__init__(part, make)
        self._part = part
        self._origin = origin
        self._option = option

    def _missing(self, who: str) -> SerdeError:
        return SerdeError(
            f"{who} has no {self.what} serde",
            detail=f"its input comes from {self._origin}, whose {self.what}s have no known type",
            hint=f"give one with {self._option} or set default_{self.what}_serde",
        )

    def needed_for(self, option: str) -> UnknownSerde:
        """The same, with what to do about it where it is needed."""
        return UnknownSerde(self._part, self._origin, option, self._make)

    def wrapped(self, wrap: Callable[[AnySerde], AnySerde]) -> UnknownSerde:
        """A serde that will be made of this one."""

        def make(default_key: AnySerde | None, default_value: AnySerde | None) -> AnySerde | None:
            inner = self._make(default_key, default_value)
            return None if inner is None else wrap(inner)

        return UnknownSerde(self._part, self._origin, self._option, make)


def unknown_key(origin: str, option: str = "Grouped(key=...)") -> UnknownSerde:
    """The serde of keys of which no more is known than where they come from."""
    return UnknownSerde("key", origin, option, lambda key, value: key)


def unknown_value(origin: str, option: str = "Grouped(value=...)") -> UnknownSerde:
    """The serde of values of which no more is known than where they come from."""
    return UnknownSerde("value", origin, option, lambda key, value: value)


def call(operator: str, *functions: Callable[..., Any]) -> str:
    """How the user would name a call of an operator: `map_values(<lambda> at orders.py:14)`."""
    return f"{operator}({', '.join(map(describe_callable, functions))})"


def made_by(operator: str, function: Callable[..., Any]) -> UnknownSerde:
    """The serde of a table's values that a function makes, if no Materialized says more."""
    return unknown_value(call(operator, function), "Materialized(value=...)")


def needed_for(option: str, serde: AnySerde) -> AnySerde:
    """A serde where it is needed; if it is unknown, the error will say that this option gives one."""
    return serde.needed_for(option) if isinstance(serde, UnknownSerde) else serde


def wrapped(wrap: Callable[[AnySerde], AnySerde], inner: AnySerde) -> AnySerde:
    """`wrap(inner)`, now or when the inner serde is known."""
    return inner.wrapped(wrap) if isinstance(inner, UnknownSerde) else wrap(inner)
