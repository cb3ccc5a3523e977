"""JSON: dicts and lists by orjson; dataclasses, msgspec structs and other typed things by msgspec."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import types
import typing
import uuid
from typing import Any, TypeVar, Union

import msgspec
import orjson

from millstream.errors import ArgumentError
from millstream.serdes.serde import Serde

T = TypeVar("T")

_IMMUTABLE_LEAVES = frozenset(
    {
        str, int, float, bool, bytes, type(None), decimal.Decimal, uuid.UUID,
        datetime.datetime, datetime.date, datetime.time, datetime.timedelta,
    }
)  # fmt: skip


class JsonSerde(Serde[Any]):
    """JSON as dicts, lists and plain values; called with a type, JSON as objects of that type.

    >>> import dataclasses
    >>> @dataclasses.dataclass(frozen=True)
    ... class Order:
    ...     region: str
    ...     amount: int
    >>> json = JsonSerde()
    >>> json.deserialize(b'{"region":"eu","amount":120}')
    {'region': 'eu', 'amount': 120}
    >>> json(Order).deserialize(b'{"region":"eu","amount":120}')
    Order(region='eu', amount=120)
    """

    def __init__(self) -> None:
        super().__init__(orjson.dumps, orjson.loads, name="json")

    def __call__(self, of: type[T]) -> Serde[T]:
        """JSON whose values are objects of a type: a dataclass, a `msgspec.Struct`, `list[Order]`, a TypedDict ..."""
        return TypedJsonSerde(of)


class TypedJsonSerde(Serde[T]):
    """JSON as objects of one type."""

    def __init__(self, of: type[T]) -> None:
        name = f"json({getattr(of, '__name__', of)})"
        try:
            decode = msgspec.json.Decoder(of).decode
        except (TypeError, NameError) as error:  # NameError: an annotation that cannot be resolved
            raise ArgumentError(
                f"{name} is no type that JSON can be read into",
                detail=str(error),
                hint="give a dataclass or a msgspec.Struct, defined at the top level of a module",
            ) from error
        super().__init__(msgspec.json.Encoder().encode, decode, immutable=is_immutable(of), name=name)


def is_immutable(of: Any, above: frozenset[Any] = frozenset()) -> bool:
    """Whether objects of a type can be shared: frozen all the way down. `above` holds the types it is a part of."""
    if of in _IMMUTABLE_LEAVES or of in above:
        return True
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin is typing.Literal:
        return True
    if origin is typing.Annotated:
        return is_immutable(arguments[0], above)
    if origin in (tuple, frozenset, Union, types.UnionType):
        return all(argument is Ellipsis or is_immutable(argument, above) for argument in arguments)
    if not isinstance(of, type):
        return False
    if issubclass(of, enum.Enum):
        return True
    if issubclass(of, msgspec.Struct):
        frozen = of.__struct_config__.frozen
    else:
        frozen = dataclasses.is_dataclass(of) and of.__dataclass_params__.frozen  # type: ignore[attr-defined]
    if not frozen:
        return False
    hints = typing.get_type_hints(of, include_extras=True)
    return all(is_immutable(hint, above | {of}) for hint in hints.values())


JSON = JsonSerde()
