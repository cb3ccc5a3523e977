"""Scalar and table functions of users."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any, get_args, get_origin

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import ScalarContext, ScalarVariant, TableVariant
from millstream.sql.functions.model import FunctionConfig
from millstream.sql.functions.signature import AnyType
from millstream.sql.functions.user.calls import (
    SETTINGS,
    ArgumentsByCount,
    UserParameter,
    UserSignature,
    declared,
    read_result,
    read_signature,
    write,
)
from millstream.sql.functions.user.declare import UserFunction
from millstream.sql.functions.user.origin import Origin
from millstream.sql.functions.user.types import UserType


def scalar_variants(function: UserFunction) -> list[ScalarVariant]:
    """The variants of a scalar function: one for each number of arguments that it takes.

    Raises:
        SqlError: its declaration is wrong.
    """
    signature = read_signature(function.target, function.origin)
    result = _result(function, signature, signature.returns)
    return [
        ScalarVariant(
            declared(parameters, result),
            _Scalar(function, signature, parameters, result),
            any(parameter.type.optional for parameter in parameters),
            function.returns,
            description(function.target),
        )
        for parameters in signature.shapes()
    ]


def _result(function: UserFunction, signature: UserSignature, annotation: Any) -> UserType:
    if function.returns is not None and annotation is None:
        return UserType(AnyType())
    return read_result(signature, annotation, function.origin, any_decimal=function.returns is not None)


class _Scalar:
    """Makes the function for a call."""

    def __init__(
        self,
        function: UserFunction,
        signature: UserSignature,
        parameters: tuple[UserParameter, ...],
        result: UserType,
    ) -> None:
        self.function = function
        self.signature = signature
        self.parameters = parameters
        self.result = result

    def __call__(self, context: ScalarContext) -> Callable[..., Any]:
        arguments = ArgumentsByCount(self.parameters, context.arguments)
        some_may_be_null = any(parameter.type.optional for parameter in self.parameters)
        target = _with_settings(self.function, self.signature, context.config)
        return _scalar_call(target, self.function.origin, arguments, write(self.result), some_may_be_null)


def _scalar_call(
    target: Callable[..., Any],
    origin: Origin,
    arguments_of: ArgumentsByCount,
    convert: Callable[[Any], Any],
    some_may_be_null: bool,
) -> Callable[..., Any]:
    """A function of SQL values. Where no argument may be NULL it is not called with one."""

    def call(*values: Any) -> Any:
        arguments = arguments_of(len(values))
        if some_may_be_null and arguments.has_nulls(values):
            return None
        try:
            return convert(target(*arguments.read(values)))
        except FunctionError:
            raise
        except Exception as error:
            raise origin.failure(error) from error

    return call


def _with_settings(function: UserFunction, signature: UserSignature, config: FunctionConfig) -> Callable[..., Any]:
    """The function, with its settings where it takes them."""
    target = function.target
    if not signature.takes_settings:
        return target
    settings = settings_of(function.origin.name, config)
    return lambda *values: target(*values, **{SETTINGS: settings})


def settings_of(name: str, config: FunctionConfig) -> dict[str, Any]:
    """The settings of one function, and those of all."""
    prefixes = (f"ksql.functions.{name.lower()}.", "ksql.functions._global_.")
    return {key: value for key, value in config.items() if key.lower().startswith(prefixes)}


def table_variants(function: UserFunction) -> list[TableVariant]:
    """The variants of a table function.

    Raises:
        SqlError: its declaration is wrong.
    """
    signature = read_signature(function.target, function.origin)
    if signature.takes_settings:
        raise function.origin.refuse("table functions have no settings")
    row = _result(function, signature, _row_annotation(signature.returns, function))
    return [
        TableVariant(
            declared(parameters, row),
            _rows(function, parameters, row),
            function.returns,
            description(function.target),
        )
        for parameters in signature.shapes()
    ]


def _row_annotation(annotation: Any, function: UserFunction) -> Any:
    if annotation is None:
        return None
    arguments = get_args(annotation)
    origin = get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable) and origin is not dict and arguments:
        return arguments[0]
    raise function.origin.refuse("a table function gives a list of rows: annotate its result as list[...]")


def _rows(function: UserFunction, parameters: tuple[UserParameter, ...], row: UserType) -> Callable[..., list[Any]]:
    target, origin, convert = function.target, function.origin, write(row)
    arguments_of = ArgumentsByCount(parameters)

    def rows(*values: Any) -> list[Any]:
        arguments = arguments_of(len(values))
        if arguments.has_nulls(values):
            return []
        try:
            return [convert(value) for value in target(*arguments.read(values)) or ()]
        except FunctionError:
            raise
        except Exception as error:
            raise origin.failure(error) from error

    return rows


def description(target: Callable[..., Any]) -> str:
    """The first line of a docstring."""
    return (target.__doc__ or "").strip().partition("\n")[0]
