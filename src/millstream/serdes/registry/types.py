"""Python types as schemas are made of them, and their objects as plain values and back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import inspect

from millstream.errors import ArgumentError

_RECORDS = (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)


@dataclass(frozen=True)
class Part:
    """A field of a record.

    Attributes:
        default: `msgspec.NODEFAULT` if it has none that a schema could say.
        extra: what `msgspec.Meta(extra=...)` says of it.
    """

    name: str
    type: inspect.Type
    default: Any
    extra: dict[str, Any]


def is_pydantic(of: Any) -> bool:
    """Whether a type is a model of pydantic's, which need not be installed."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(of, type) and issubclass(of, pydantic.BaseModel)


def type_of(of: Any, who: str) -> inspect.Type:
    """What a type is made of.

    Raises:
        ArgumentError: it is nothing that has fields and values known beforehand.
    """
    try:
        return inspect.type_info(of)
    except (TypeError, NameError) as error:  # NameError: an annotation that cannot be resolved
        raise ArgumentError(
            f"{who} is no type that a schema can be made of",
            detail=str(error),
            hint="give a dataclass, a msgspec.Struct or a pydantic model, defined at the top level of a module",
        ) from error


def bare(node: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """A type without what `Annotated` says of it, and that."""
    if isinstance(node, inspect.Metadata):
        return node.type, dict(node.extra or {})
    return node, {}


def split_optional(node: inspect.Type) -> tuple[inspect.Type, bool]:
    """A type without None, and whether it takes None."""
    if not isinstance(node, inspect.UnionType):
        return node, False
    rest = [member for member in node.types if not isinstance(member, inspect.NoneType)]
    if len(rest) == len(node.types):
        return node, False
    return (rest[0] if len(rest) == 1 else inspect.UnionType(tuple(rest))), True


def record_class(node: inspect.Type) -> Any:
    """The class of a type that has fields; None for others."""
    if isinstance(node, _RECORDS) or (isinstance(node, inspect.CustomType) and is_pydantic(node.cls)):
        return node.cls
    return None


def parts_of(node: Any, who: str) -> list[Part]:
    """The fields of a record."""
    if is_pydantic(node.cls):
        return [_pydantic_part(name, field, who) for name, field in node.cls.model_fields.items()]
    found = []
    for field in node.fields:
        kind, extra = bare(field.type)
        default = field.default
        if field.default_factory in (list, dict):
            default = field.default_factory()
        found.append(Part(field.encode_name, kind, default, extra))
    return found


def _pydantic_part(name: str, field: Any, who: str) -> Part:
    annotation, extra = field.annotation, {}
    for mark in field.metadata:
        if isinstance(mark, msgspec.Meta):
            annotation = Annotated[annotation, mark]
        elif getattr(mark, "max_digits", None) is not None:
            extra["precision"] = mark.max_digits
        if getattr(mark, "decimal_places", None) is not None:
            extra["scale"] = mark.decimal_places
    kind, marked = bare(type_of(annotation, f"{who}.{name}"))
    default: Any = msgspec.NODEFAULT if field.is_required() else field.default
    if field.default_factory is not None:
        default = field.default_factory() if field.default_factory in (list, dict) else msgspec.NODEFAULT
    return Part(name, kind, default, extra | marked)


def fits_int32(node: inspect.IntType) -> bool:
    """Whether an int's bounds keep it within 32 bits."""
    low = node.ge if node.ge is not None else node.gt
    high = node.le if node.le is not None else node.lt
    return low is not None and high is not None and low >= -(2**31) and high <= 2**31 - 1


def to_plain(leaves: tuple[type, ...]) -> Callable[[Any], Any]:
    """How objects become dicts, lists, numbers, text, and the types that a format has something for."""
    return functools.partial(msgspec.to_builtins, builtin_types=leaves, enc_hook=_dump)


def from_plain(of: Any, leaves: tuple[type, ...]) -> Callable[[Any], Any]:
    """How these become objects of a type again."""
    return functools.partial(msgspec.convert, type=of, builtin_types=leaves, dec_hook=_load)


def _dump(value: Any) -> Any:
    if is_pydantic(type(value)):
        return value.model_dump()
    raise NotImplementedError(f"no schema knows objects of type {type(value).__name__}")


def _load(of: Any, data: Any) -> Any:
    return of.model_validate(data)
