"""Aggregates of users."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import AggregateContext, AggregateVariant, Aggregation
from millstream.sql.functions.signature import Primitive, Signature, Variable, apply, variables
from millstream.sql.functions.user.calls import (
    Arguments,
    UserParameter,
    UserSignature,
    declared,
    read_result,
    read_signature,
    write,
)
from millstream.sql.functions.user.declare import UserFunction
from millstream.sql.functions.user.functions import description, settings_of
from millstream.sql.functions.user.origin import Origin
from millstream.sql.functions.user.types import Annotations, UserType
from millstream.sql.schema.types import BaseType, SqlType

_METHODS = ("initialize", "aggregate", "merge")
_BIGINT = Primitive(BaseType.BIGINT)
_MOST_CHOICES = 4


def aggregate_variants(function: UserFunction) -> list[AggregateVariant]:
    """The variants of an aggregate: one for each number of constants that it takes.

    Raises:
        SqlError: its declaration is wrong.
    """
    target, origin = function.target, function.origin
    for method in _METHODS:
        if not callable(getattr(target, method, None)):
            raise origin.refuse(f"an aggregate needs a method '{method}'")
    constants = _constants(function)
    signature = read_signature(target.aggregate, origin, skip=1)  # type: ignore[attr-defined]
    state_parameter, *columns = signature.parameters or (None,)
    if state_parameter is None:
        raise origin.refuse("'aggregate' takes the state, and the columns after it")
    state = read_result(signature, signature.returns, origin)
    if next(variables(state.type), None) is not None and not isinstance(state.type, Variable):
        raise origin.refuse("the type of its state cannot have type variables within it")
    result_method = getattr(target, "result", None)
    result = state
    if result_method is not None:
        result = read_result(signature, read_signature(result_method, origin, skip=1).returns, origin)
    factory = _Aggregate(function, signature, tuple(columns), state, result)
    return [
        AggregateVariant(variant, factory, description(target))
        for shape in constants.shapes()
        for variant in _with_integers(declared(columns, result, shape))
    ]


def _with_integers(signature: Signature) -> list[Signature]:
    """The signature, and with INTEGER for BIGINT: arguments of aggregates are not widened, yet an int is both."""
    whole = [at for at, parameter in enumerate(signature.parameters) if parameter.type == _BIGINT]
    signatures = []
    for choice in itertools.product((_BIGINT, Primitive(BaseType.INTEGER)), repeat=min(len(whole), _MOST_CHOICES)):
        types = dict(zip(whole, choice, strict=False))
        parameters = tuple(
            replace(parameter, type=types.get(at, parameter.type)) for at, parameter in enumerate(signature.parameters)
        )
        signatures.append(replace(signature, parameters=parameters))
    return signatures


def _constants(function: UserFunction) -> UserSignature:
    initializer: Any = function.target.__init__
    if initializer is object.__init__:
        return UserSignature((), None, Annotations(), False)
    return read_signature(initializer, function.origin, skip=1)


class _Aggregate:
    """Makes the aggregation for a call."""

    def __init__(
        self,
        function: UserFunction,
        signature: UserSignature,
        columns: tuple[UserParameter, ...],
        state: UserType,
        result: UserType,
    ) -> None:
        self.function = function
        self.signature = signature
        self.columns = columns
        self.state = state
        self.result = result

    def __call__(self, context: AggregateContext) -> Aggregation:
        function, origin = self.function, self.function.origin
        try:
            instance = function.target(*context.constants)
            if hasattr(instance, "configure"):
                instance.configure(settings_of(origin.name, context.config))
        except Exception as error:
            raise origin.failure(error) from error
        state_type = self._state_type(context)
        states = _States(instance, origin, self.state, state_type)
        arguments = Arguments.of(self.columns, context.arguments)
        has_result = hasattr(instance, "result")
        return Aggregation(
            states.initialize,
            states.step("aggregate", arguments),
            states.merge,
            states.result(write(self.result)) if has_result else None,
            states.step("undo", arguments) if hasattr(instance, "undo") else None,
            state=state_type,
        )

    def _state_type(self, context: AggregateContext) -> SqlType:
        if isinstance(self.state.type, Variable):
            for column, given in zip(self.columns, context.arguments, strict=False):
                if column.type.type == self.state.type and given is not None:
                    return given
        return apply(self.state.type, {})


class _States:
    """Calls the methods of an aggregate with states in their Python form."""

    def __init__(self, instance: Any, origin: Origin, state: UserType, type_: SqlType) -> None:
        self._instance = instance
        self._origin = origin
        self._write = write(state)
        self._read = state.reader(type_)

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._write(method(*arguments))
        except FunctionError:
            raise
        except Exception as error:
            raise self._origin.failure(error) from error

    def _state(self, state: Any) -> Any:
        return state if state is None or self._read is None else self._read(state)

    def initialize(self) -> Any:
        return self._call(self._instance.initialize)

    def merge(self, one: Any, other: Any) -> Any:
        return self._call(self._instance.merge, self._state(one), self._state(other))

    def step(self, name: str, arguments: Arguments) -> Callable[..., Any]:
        method = getattr(self._instance, name)

        def step(state: Any, *values: Any) -> Any:
            if arguments.has_nulls(values):
                return state
            return self._call(method, self._state(state), *arguments.read(values))

        return step

    def result(self, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def result(state: Any) -> Any:
            try:
                return convert(self._instance.result(self._state(state)))
            except FunctionError:
                raise
            except Exception as error:
                raise self._origin.failure(error) from error

        return result
