"""Serdes that are known only when a topology meets its configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.errors import SerdeError
from millstream.serdes.serde import AnySerde, Serde


class DeferredSerde(Serde[Any]):
    """Stands for the configuration's default, or for a serde made from it, until `resolve` is asked."""

    def __init__(self, what: str, make: Callable[[AnySerde | None, AnySerde | None], AnySerde | None]) -> None:
        super().__init__(_unresolved, _unresolved, name=f"default {what}")
        self.what = what
        self._make = make

    def resolve(self, default_key: AnySerde | None, default_value: AnySerde | None, who: str) -> AnySerde:
        """The serde itself.

        Raises:
            SerdeError: the configuration has no default; `who` is the node or store that needs it.
        """
        serde = self._make(default_key, default_value)
        if serde is None:
            raise self._missing(who)
        return serde

    def _missing(self, who: str) -> SerdeError:
        return SerdeError(
            f"{who} has no {self.what} serde",
            detail=f"none was given, and the configuration has no default_{self.what}_serde",
            hint=f"give one where the data is read, grouped, joined or kept ({self.what}=Serdes...), "
            f"or set default_{self.what}_serde",
        )


def _unresolved(data: Any) -> Any:
    raise SerdeError("a default serde was used before the configuration was known")


def _key(default_key: AnySerde | None, default_value: AnySerde | None) -> AnySerde | None:
    return default_key


def _value(default_key: AnySerde | None, default_value: AnySerde | None) -> AnySerde | None:
    return default_value


DEFAULT_KEY = DeferredSerde("key", _key)
DEFAULT_VALUE = DeferredSerde("value", _value)


def resolved(
    serde: AnySerde | None, is_key: bool, default_key: AnySerde | None, default_value: AnySerde | None, who: str
) -> AnySerde:
    """A serde that may have been left out or deferred, as it is under this configuration."""
    if serde is None:
        serde = DEFAULT_KEY if is_key else DEFAULT_VALUE
    if isinstance(serde, DeferredSerde):
        return serde.resolve(default_key, default_value, who)
    return serde
