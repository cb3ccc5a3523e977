"""What a serde is: two plain functions, and what the engine may assume of the objects."""

from __future__ import annotations

import copyreg
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

from millstream.errors import SerdeError, describe_callable

T = TypeVar("T")

_SHOWN = 80

# A dataclass of a script goes to other processes by value, and its mark for "no default" would go along as a copy that
# nothing there knows: required fields would seem to have a default. By its name, it is the same everywhere.
copyreg.pickle(type(dataclasses.MISSING), lambda _: "MISSING")


def shorten(data: object) -> str:
    """An object as an error shows it."""
    text = repr(data)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


class Serde(Generic[T]):
    """Turns objects into bytes and back.

    `serialize` and `deserialize` are attributes, not methods: the engine takes them once and calls them for each
    record, so they may be C functions. They are never called with None, and may raise anything; then
    `serialization_error` and `deserialization_error` tell the story.

    Args:
        serialize: object to bytes.
        deserialize: bytes to object.
        hashable: objects can be dict keys, and are equal exactly when their bytes are.
        immutable: objects cannot be changed in place, so that one may be shared.
        name: what errors call it.
    """

    serialize: Callable[[T], bytes]
    deserialize: Callable[[bytes], T]
    #: The name in `Serdes`, for its ready instances.
    constant: str | None = None
    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Remember how it was made: functions of C cannot be sent to another process, but the making can."""
        serde = super().__new__(cls)
        serde._made_with = (arguments, options)
        return serde

    def __reduce__(self) -> tuple[Any, ...]:
        if self.constant is not None:
            return _constant, (self.constant,)
        return _make, (type(self), *self._made_with)

    def __init__(
        self,
        serialize: Callable[[T], bytes],
        deserialize: Callable[[bytes], T],
        *,
        hashable: bool = False,
        immutable: bool = False,
        name: str | None = None,
    ) -> None:
        self.serialize = serialize
        self.deserialize = deserialize
        self.hashable = hashable
        self.immutable = immutable
        self.name = name or f"{describe_callable(serialize)} / {describe_callable(deserialize)}"

    def for_topic(self, topic: str, is_key: bool) -> Serde[T]:
        """The serde to use for a topic. Serdes that look schemas up by topic override it."""
        return self

    def configured(self, settings: Mapping[str, object]) -> Serde[T]:
        """The serde to use in an application. Serdes that need some of its clients' settings override it.

        Args:
            settings: `StreamsConfig.client`.
        """
        return self

    def serialization_error(self, data: object, cause: BaseException) -> SerdeError:
        """What to raise after `serialize(data)` raised `cause`."""
        if isinstance(cause, SerdeError):
            return cause
        return self._error(f"the {self.name} serde cannot write a value of type {type(data).__name__}", data, cause)

    def deserialization_error(self, data: object, cause: BaseException) -> SerdeError:
        """What to raise after `deserialize(data)` raised `cause`."""
        if isinstance(cause, SerdeError):
            return cause
        return self._error(f"the {self.name} serde cannot read these bytes", data, cause)

    @staticmethod
    def _error(primary: str, data: object, cause: BaseException) -> SerdeError:
        error = SerdeError(
            primary,
            detail=f"{shorten(data)}: {type(cause).__name__}: {cause}",
            hint="give the serde that fits the data, where it is read or written",
        )
        error.__cause__ = cause
        return error

    def __repr__(self) -> str:
        return f"<Serde {self.name}>"


AnySerde = Serde[Any]


def _make(kind: type[AnySerde], arguments: tuple[Any, ...], options: dict[str, Any]) -> AnySerde:
    return kind(*arguments, **options)


#: The ready instances of `Serdes`, which imports this module.
_constants: dict[str, AnySerde] = {}


def make_constant(name: str, serde: AnySerde) -> None:
    """Give a ready instance its name: other processes have it too."""
    serde.constant = name
    _constants[name] = serde


def _constant(name: str) -> AnySerde:
    return _constants[name]
