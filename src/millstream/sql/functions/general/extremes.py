"""GREATEST and LEAST: the extreme one of the arguments that are not NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from millstream.sql.functions.declare import Declarations, ScalarContext
from millstream.sql.functions.java.ordering import Key, order_key
from millstream.sql.functions.model import Argument
from millstream.sql.schema.decimals import widest
from millstream.sql.schema.types import SqlType

FUNCTIONS = Declarations("MATHEMATICAL")

_TYPES = ("INTEGER", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP")
_SIGNATURES = tuple(f"({type_} val, {type_}... vals) -> {type_}" for type_ in _TYPES)
_DECIMAL = "(DECIMAL val, DECIMAL... vals) -> DECIMAL"


def _widest(arguments: Sequence[Argument]) -> SqlType:
    """A type that holds all; the value keeps the scale it has, as in ksqlDB."""
    first, *others = (argument for argument in arguments if isinstance(argument, SqlType))
    return widest(first, *others)


@FUNCTIONS.scalar_factory("greatest", _DECIMAL, pass_null=True, returns=_widest)
@FUNCTIONS.scalar_factory("greatest", *_SIGNATURES, pass_null=True)
def greatest(context: ScalarContext) -> Callable[..., Any]:
    """The largest of the arguments that are not NULL."""
    return partial(_extreme, max, order_key(context.returns))


@FUNCTIONS.scalar_factory("least", _DECIMAL, pass_null=True, returns=_widest)
@FUNCTIONS.scalar_factory("least", *_SIGNATURES, pass_null=True)
def least(context: ScalarContext) -> Callable[..., Any]:
    """The smallest of the arguments that are not NULL."""
    return partial(_extreme, min, order_key(context.returns))


def _extreme(choose: Callable[..., Any], key: Key, *values: Any) -> Any:
    return choose([value for value in values if value is not None], key=key, default=None)
