"""A function with all its variants: settles calls of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import (
    AggregateContext,
    AggregateVariant,
    Returns,
    ScalarContext,
    ScalarVariant,
    TableVariant,
)
from millstream.sql.functions.model import (
    AggregateCall,
    Argument,
    FunctionConfig,
    LambdaArgument,
    LambdaType,
    ScalarCall,
    TableCall,
)
from millstream.sql.functions.resolution import Match, Settled, bind, find, target
from millstream.sql.functions.signature import (
    Bindings,
    Lambda,
    ParamType,
    Variable,
    apply,
    is_generic,
)
from millstream.sql.schema.types import SqlType


@dataclass
class ScalarFactory:
    """A scalar function."""

    name: str
    category: str
    author: str
    variants: list[ScalarVariant] = field(default_factory=list)

    def resolve(self, arguments: Sequence[Argument], config: FunctionConfig) -> ScalarCall:
        """Settles a call.

        Raises:
            SqlError: no variant takes such arguments, or it is not clear which one is meant.
        """
        settled = self._settle_lambdas(arguments)
        match = find(self.name, self.variants, settled, widen=True)
        variant = match.variant
        parameters = _targets(match, settled)
        returns = _returns(match, settled, variant.returns)
        given = tuple(_given(argument, parameter) for argument, parameter in zip(settled, parameters, strict=True))
        function = variant.factory(ScalarContext(given, returns, config))
        return ScalarCall(_spread(function, match), parameters, returns, variant.pass_null)

    def _settle_lambdas(self, arguments: Sequence[Argument]) -> Sequence[Settled]:
        """Gives lambdas their types, left to right, from what the arguments before them bound."""
        if not any(isinstance(argument, LambdaArgument) for argument in arguments):
            return arguments
        types = find(self.name, self.variants, arguments, widen=True).parameters
        bindings: Bindings = {}
        settled: list[Settled] = []
        for type_, argument in zip(types, arguments, strict=True):
            if isinstance(argument, LambdaArgument) and isinstance(type_, Lambda):
                settled.append(_settle_lambda(type_, argument, bindings))
            else:
                settled.append(argument)
            if settled[-1] is not None:
                _bind_or_fail(type_, settled[-1], bindings)
        return settled


@dataclass
class AggregateFactory:
    """An aggregate function."""

    name: str
    category: str
    author: str
    variants: list[AggregateVariant] = field(default_factory=list)

    def constants(self, arguments: Sequence[Argument]) -> int:
        """How many of the arguments, at the end, must be constants."""
        return _constants(find(self.name, self.variants, arguments, widen=False), len(arguments))

    def resolve(self, arguments: Sequence[Argument], constants: Sequence[Any], config: FunctionConfig) -> AggregateCall:
        """Settles a call.

        Args:
            arguments: the types of all arguments, those of the constants too.
            constants: the values of the constants, as many as `constants` says.
            config: the settings.
        """
        match = find(self.name, self.variants, arguments, widen=False)
        columns = len(arguments) - _constants(match, len(arguments))
        given = tuple(argument if isinstance(argument, SqlType) else None for argument in arguments[:columns])
        declared = _declared_returns(match, arguments)
        aggregation = match.variant.factory(AggregateContext(given, tuple(constants), declared, config))
        returns = aggregation.returns or declared
        if returns is None:
            raise SqlError(f"Cannot convert param type to sql type: {match.variant.signature.returns}")
        return AggregateCall(
            columns,
            (None,) * columns,
            aggregation.state or returns,
            returns,
            aggregation.initialize,
            aggregation.aggregate,
            aggregation.merge,
            aggregation.result,
            aggregation.undo,
        )


@dataclass
class TableFactory:
    """A table function."""

    name: str
    category: str
    author: str
    variants: list[TableVariant] = field(default_factory=list)

    def resolve(self, arguments: Sequence[Argument], config: FunctionConfig) -> TableCall:
        """Settles a call."""
        match = find(self.name, self.variants, arguments, widen=True)
        parameters = tuple(
            parameter if isinstance(parameter, SqlType) else None for parameter in _targets(match, arguments)
        )
        returns = _returns(match, arguments, match.variant.returns)
        return TableCall(_spread(match.variant.function, match), parameters, returns)


def _constants(match: Match[AggregateVariant], count: int) -> int:
    signature = match.variant.signature
    at = signature.variadic
    first_constant = len(signature.parameters) - signature.constants
    return count - first_constant if at is not None and at >= first_constant else signature.constants


def _settle_lambda(type_: Lambda, argument: LambdaArgument, bindings: Bindings) -> LambdaType:
    parameters = tuple(apply(parameter, bindings) for parameter in type_.parameters)
    returns = argument.infer(parameters)
    if returns is None:
        if not isinstance(type_.returns, Variable) or type_.returns.name not in bindings:
            raise SqlError(f"Could not find mapping for generic type: {type_.returns}")
        returns = bindings[type_.returns.name]
    return LambdaType(parameters, returns)


def _bind_or_fail(type_: ParamType, argument: Settled, bindings: Bindings) -> None:
    problem = bind(type_, argument, bindings)
    if problem is not None and is_generic(type_):
        raise SqlError(problem)


def _targets(match: Match[Any], arguments: Sequence[Settled]) -> tuple[SqlType | LambdaType | None, ...]:
    return tuple(target(type_, argument) for type_, argument in zip(match.parameters, arguments, strict=True))


def _given(argument: Settled, parameter: SqlType | LambdaType | None) -> SqlType | None:
    if isinstance(parameter, SqlType):
        return parameter
    return argument if isinstance(argument, SqlType) else None


def _returns(match: Match[Any], arguments: Sequence[Settled], provider: Returns | None) -> SqlType:
    if provider is not None:
        return provider([_as_argument(argument) for argument in arguments])
    return apply(match.variant.signature.returns, _bindings(match, arguments))


def _declared_returns(match: Match[Any], arguments: Sequence[Settled]) -> SqlType | None:
    bindings = _bindings(match, arguments)
    try:
        return apply(match.variant.signature.returns, bindings)
    except SqlError:
        # A DECIMAL, or an ARRAY of them: the factory knows which.
        return None


def _bindings(match: Match[Any], arguments: Sequence[Settled]) -> Bindings:
    bindings: Bindings = {}
    for type_, argument in zip(match.parameters, arguments, strict=True):
        if argument is not None:
            _bind_or_fail(type_, argument, bindings)
    return bindings


def _as_argument(argument: Settled) -> Argument:
    return None if isinstance(argument, LambdaType) else argument


def _spread(function: Callable[..., Any], match: Match[Any]) -> Callable[..., Any]:
    return function if match.spread is None else _Spread(function, match.spread)


@dataclass(frozen=True)
class _Spread:
    """Calls a variadic function whose many arguments come as one array."""

    function: Callable[..., Any]
    at: int

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments[: self.at], *arguments[self.at], *arguments[self.at + 1 :])
