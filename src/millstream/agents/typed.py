"""Serdes for the types that topics and tables are declared with."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.errors import ArgumentError
from millstream.serdes import Serde, Serdes
from millstream.serdes.serde import AnySerde

#: Serializers by their name in Faust.
_NAMED: dict[str, AnySerde] = {"raw": Serdes.bytes, "json": Serdes.json}


def serde_for(of: Any, serializer: Any, default: AnySerde) -> AnySerde:
    """The serde of a type.

    Args:
        of: `str`, `bytes`, a `Record`, a dataclass, a `msgspec.Struct`, a pydantic model, any other type that JSON can
            be read into, a `Serde`, or None.
        serializer: a `Serde`, or the name of one in Faust: "json", "raw".
        default: for neither.

    >>> serde_for(str, None, Serdes.json), serde_for(int, None, Serdes.json), serde_for(None, "raw", Serdes.json)
    (<Serde string>, <Serde json(int)>, <Serde bytes>)
    """
    if isinstance(serializer, Serde):
        return serializer
    if serializer is not None and serializer not in _NAMED:
        raise ArgumentError(
            f"there is no serializer {serializer!r}",
            detail=f"there are {', '.join(map(repr, _NAMED))}",
            hint="give a serde: Serdes.avro(...), or one of your own",
        )
    if isinstance(of, Serde):
        return of
    if of is None or of is Any:
        return default if serializer is None else _NAMED[serializer]
    if of is bytes:
        return Serdes.bytes
    if of is str and serializer != "json":
        return Serdes.string
    return ModelSerde(of) if hasattr(of, "model_validate_json") else Serdes.json(of)


class ModelSerde(Serde[Any]):
    """JSON as objects of a pydantic model."""

    def __init__(self, model: Any) -> None:
        super().__init__(
            lambda value: value.model_dump_json().encode(), model.model_validate_json, name=f"json({model.__name__})"
        )


def _plain(value: Any) -> Any:
    """What msgspec does not know: a pydantic model."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


dump_json = msgspec.json.Encoder(enc_hook=_plain).encode
