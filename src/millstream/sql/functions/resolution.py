"""Which variant of a function a call means.

First the variants that take the arguments as they are; if there is none, those that take them widened (INTEGER, BIGINT,
DECIMAL, DOUBLE; STRING to times and BYTES). Among several the best is the one, in this order, without a variadic
parameter, with more parameters, with fewer type variables, without a variadic ANY, with its variadic parameter further
right. No single best: ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from millstream.sql.errors import SqlError
from millstream.sql.functions.model import Argument, IntervalArgument, LambdaArgument, LambdaType
from millstream.sql.functions.signature import (
    AnyType,
    ArrayOf,
    Bindings,
    IntervalUnit,
    Lambda,
    MapOf,
    Parameter,
    ParamType,
    Primitive,
    Signature,
    StructOf,
    Variable,
    apply,
    is_generic,
)
from millstream.sql.schema.decimals import as_decimal_type
from millstream.sql.schema.types import BaseType, SqlArray, SqlMap, SqlStruct, SqlType

#: What matching looks at: arguments whose lambdas may already be settled.
Settled = Argument | LambdaType

_HELP = "For detailed information on a function run: DESCRIBE FUNCTION <Function-Name>;"


class Variant(Protocol):
    """Whatever has a signature."""

    @property
    def signature(self) -> Signature: ...


V = TypeVar("V", bound=Variant)


@dataclass(frozen=True)
class Match(Generic[V]):
    """A variant, and how it takes the arguments of a call.

    Attributes:
        parameters: the type of the parameter that each argument goes to.
        spread: the index of the argument that is an array of the arguments to the variadic parameter.
    """

    variant: V
    parameters: tuple[ParamType, ...]
    spread: int | None = None


def find(name: str, variants: Sequence[V], arguments: Sequence[Settled], *, widen: bool) -> Match[V]:
    """The variant that a call means.

    Args:
        name: how messages call the function.
        variants: all there are.
        arguments: the types of the arguments.
        widen: whether arguments may be widened.

    Raises:
        SqlError: no variant takes the arguments, or several do and none is the best.
    """
    for casts in (False, True) if widen else (False,):
        matches = [match for variant in variants if (match := _match(variant, arguments, casts)) is not None]
        if matches:
            ranked = sorted(matches, key=lambda match: _rank(match.variant.signature))
            if len(ranked) > 1 and _rank(ranked[-1].variant.signature) == _rank(ranked[-2].variant.signature):
                raise _ambiguous(name, variants, arguments)
            return ranked[-1]
    raise _no_match(name, variants, arguments)


def _match(variant: V, arguments: Sequence[Settled], casts: bool) -> Match[V] | None:
    for types, spread in _shapes(variant.signature, len(arguments)):
        if _accepts_all(types, arguments, casts):
            return Match(variant, types, spread)
    return None


def _shapes(signature: Signature, count: int) -> list[tuple[tuple[ParamType, ...], int | None]]:
    """The ways in which a signature takes that many arguments."""
    parameters = signature.parameters
    at = signature.variadic
    if at is None:
        return [(tuple(parameter.type for parameter in parameters), None)] if len(parameters) == count else []
    before = tuple(parameter.type for parameter in parameters[:at])
    after = tuple(parameter.type for parameter in parameters[at + 1 :])
    many = count - len(before) - len(after)
    if many < 0:
        return []
    shapes: list[tuple[tuple[ParamType, ...], int | None]] = [(before + (parameters[at].type,) * many + after, None)]
    if many == 1:
        shapes.append(((*before, ArrayOf(parameters[at].type), *after), at))
    return shapes


def _rank(signature: Signature) -> tuple[int, int, int, int, int]:
    at = signature.variadic
    any_variadic = at is not None and isinstance(signature.parameters[at].type, AnyType)
    generics = sum(is_generic(parameter.type) for parameter in signature.parameters) + any_variadic
    return (
        0 if at is not None else 1,
        len(signature.parameters),
        -generics,
        0 if any_variadic else 1,
        -1 if at is None else at,
    )


def _accepts_all(types: Sequence[ParamType], arguments: Sequence[Settled], casts: bool) -> bool:
    bindings: Bindings = {}
    return all(_accepts(type_, argument, bindings, casts) for type_, argument in zip(types, arguments, strict=True))


def _accepts(type_: ParamType, argument: Settled, bindings: Bindings, casts: bool) -> bool:
    if argument is None:
        return True
    if is_generic(type_):
        return bind(type_, argument, bindings) is None
    return compatible(argument, type_, casts)


def bind(type_: ParamType, argument: Settled, bindings: Bindings) -> str | None:
    """Binds the variables of a type to what an argument has in their place.

    Returns:
        None, or why it cannot be.
    """
    found: list[tuple[str, SqlType]] = []
    if not _collect(type_, argument, found):
        return (
            f"Cannot infer generics for {type_} from {argument_text(argument)} because "
            "they do not have the same schema structure."
        )
    for name, actual in found:
        known = bindings.setdefault(name, actual)
        if known != actual:
            return (
                f"Found invalid instance of generic schema when mapping {type_} to {argument_text(argument)}. "
                f"Cannot map {name} to both {known} and {actual}"
            )
    return None


def _collect(type_: ParamType, argument: Settled, found: list[tuple[str, SqlType]]) -> bool:
    """Walks a type and an argument side by side. Whether they have the same structure."""
    match type_, argument:
        case Lambda(parameters, _), LambdaArgument(arity):
            return len(parameters) == arity
        case Lambda(parameters, returns), LambdaType(actual_parameters, actual_returns):
            return len(parameters) == len(actual_parameters) and all(
                _collect(inner, actual, found)
                for inner, actual in zip((*parameters, returns), (*actual_parameters, actual_returns), strict=True)
            )
        case Variable(name), SqlType():
            found.append((name, argument))
            return True
        case ArrayOf(item), SqlArray():
            return not is_generic(type_) or _collect(item, argument.item, found)
        case MapOf(key, value), SqlMap():
            return not is_generic(type_) or (
                _collect(key, argument.key, found) and _collect(value, argument.value, found)
            )
        case StructOf(), SqlStruct():
            return not is_generic(type_)
        case Primitive(base), SqlType():
            return base is argument.base
        case AnyType(), _:
            return True
    return False


def compatible(argument: Settled, type_: ParamType, casts: bool) -> bool:
    """Whether a type without variables takes an argument."""
    match type_, argument:
        case AnyType(), _:
            return True
        case Lambda(parameters, _), LambdaArgument(arity):
            return len(parameters) == arity
        case Lambda(parameters, returns), LambdaType(actual_parameters, actual_returns):
            return (
                len(parameters) == len(actual_parameters)
                and all(
                    compatible(actual, inner, casts)
                    for actual, inner in zip(actual_parameters, parameters, strict=True)
                )
                and compatible(actual_returns, returns, casts)
            )
        case IntervalUnit(), IntervalArgument():
            return True
        case ArrayOf(item), SqlArray():
            return compatible(argument.item, item, casts)
        case MapOf(key, value), SqlMap():
            return compatible(argument.key, key, casts) and compatible(argument.value, value, casts)
        case StructOf(fields), SqlStruct():
            return _struct_compatible(argument, fields)
        case Primitive(base), SqlType():
            return argument.base is base or (casts and _casts_to(argument.base, base))
    return False


def _casts_to(actual: BaseType, declared: BaseType) -> bool:
    """What needs no CAST: numbers widen, and texts are read as times and as bytes."""
    if actual is BaseType.STRING:
        return declared.is_time or declared is BaseType.BYTES
    return actual.widens_to(declared)


def _struct_compatible(actual: SqlStruct, fields: tuple[tuple[str, ParamType], ...]) -> bool:
    """Structs are never widened inside; one without fields goes with every other."""
    if not actual.fields or not fields:
        return True
    types = {field.name: field.type for field in actual.fields}
    return len(types) == len(fields) and all(
        name in types and compatible(types[name], type_, False) for name, type_ in fields
    )


def target(type_: ParamType, argument: Settled) -> SqlType | LambdaType | None:
    """The type an argument must be given in; None where it can stay as it is."""
    if not isinstance(argument, SqlType):
        return argument if isinstance(argument, LambdaType) else None
    if is_generic(type_) or compatible(argument, type_, False):
        return None
    if isinstance(type_, Primitive) and type_.base is BaseType.DECIMAL:
        return as_decimal_type(argument)
    return apply(type_, {})


def argument_text(argument: Settled) -> str:
    """An argument's type as messages show it: names without quotes."""
    match argument:
        case None:
            return "null"
        case LambdaArgument():
            return "LAMBDA"
        case LambdaType(parameters, returns):
            return f"LAMBDA ({', '.join(map(argument_text, parameters))}) => {argument_text(returns)}"
        case IntervalArgument():
            return "INTERVALUNIT"
        case SqlArray(item=item):
            return f"ARRAY<{argument_text(item)}>"
        case SqlMap(key=key, value=value):
            return f"MAP<{argument_text(key)}, {argument_text(value)}>"
        case SqlStruct(fields=fields) if fields:
            return f"STRUCT<{', '.join(f'{field.name} {argument_text(field.type)}' for field in fields)}>"
    return str(argument)


def _no_match(name: str, variants: Sequence[Variant], arguments: Sequence[Settled]) -> SqlError:
    return SqlError(
        f"Function '{name}' does not accept parameters {_arguments_text(arguments)}.\n"
        f"Valid alternatives are:\n{_alternatives(name, variants)}\n{_HELP}"
    )


def _ambiguous(name: str, variants: Sequence[Variant], arguments: Sequence[Settled]) -> SqlError:
    return SqlError(
        f"Function '{name}' cannot be resolved due to ambiguous method parameters {_arguments_text(arguments)}.\n"
        "Use CAST() to explicitly cast your parameters to one of the supported function calls.\n"
        f"Valid function calls are:\n{_alternatives(name, variants)}\n{_HELP}"
    )


def _arguments_text(arguments: Sequence[Settled]) -> str:
    return f"({', '.join(map(argument_text, arguments))})"


def _alternatives(name: str, variants: Sequence[Variant]) -> str:
    return "\n".join(f"{name}({_parameters_text(variant.signature.parameters)})" for variant in variants)


def _parameters_text(parameters: Sequence[Parameter]) -> str:
    return ", ".join(map(str, parameters))
