"""Users' functions as SQL calls them: with SQL values, and NULL handled."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.sql.functions.signature import Parameter, Signature
from millstream.sql.functions.user.origin import Origin
from millstream.sql.functions.user.types import Annotations, Convert, UserType, holds_open_decimal
from millstream.sql.schema.types import SqlArray, SqlType

#: The name of the keyword-only parameter that gets the settings of a function.
SETTINGS = "settings"


@dataclass(frozen=True)
class UserParameter:
    """A parameter of a user's function."""

    name: str
    type: UserType
    variadic: bool
    has_default: bool

    @property
    def declared(self) -> Parameter:
        """As signatures have it."""
        return Parameter(self.type.parameter_type, self.name, self.variadic)


@dataclass(frozen=True)
class UserSignature:
    """What a user's function takes and gives."""

    parameters: tuple[UserParameter, ...]
    returns: Any
    annotations: Annotations
    takes_settings: bool

    def shapes(self) -> list[tuple[UserParameter, ...]]:
        """The parameters, with ever more defaults left out."""
        shapes = [self.parameters]
        while shapes[-1] and shapes[-1][-1].has_default:
            shapes.append(shapes[-1][:-1])
        return shapes


def read_signature(function: Callable[..., Any], origin: Origin, *, skip: int = 0) -> UserSignature:
    """The signature of a function by its annotations.

    Args:
        function: the function.
        origin: whose it is.
        skip: how many parameters at the front are no arguments: `self`.

    Raises:
        SqlError: an annotation is missing, or stands for no SQL type.
    """
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise origin.refuse(f"its annotations cannot be read: {error}") from error
    annotations = Annotations()
    parameters = []
    takes_settings = False
    for parameter in list(inspect.signature(function).parameters.values())[skip:]:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name == SETTINGS:
            takes_settings = True
        elif parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            raise origin.refuse(f"SQL has no keyword arguments: parameter '{parameter.name}'")
        elif parameter.name not in hints:
            raise origin.refuse(f"parameter '{parameter.name}' has no annotation")
        else:
            type_ = _read(annotations, hints[parameter.name], f"parameter '{parameter.name}'", origin)
            variadic = parameter.kind is parameter.VAR_POSITIONAL
            has_default = parameter.default is not parameter.empty
            parameters.append(UserParameter(parameter.name, type_, variadic, has_default))
    return UserSignature(tuple(parameters), hints.get("return"), annotations, takes_settings)


def read_result(signature: UserSignature, annotation: Any, origin: Origin, *, any_decimal: bool = False) -> UserType:
    """The type of a result.

    Args:
        signature: that of the function.
        annotation: of the result.
        origin: whose it is.
        any_decimal: whether a DECIMAL may be of unknown precision.

    Raises:
        SqlError: there is none, or it stands for no SQL type.
    """
    if annotation is None or annotation is type(None):
        raise origin.refuse("it has no annotation of its result")
    result = _read(signature.annotations, annotation, "its result", origin)
    if not any_decimal and holds_open_decimal(result.type):
        raise origin.refuse("a DECIMAL result needs its precision: Annotated[Decimal, 'DECIMAL(10, 2)']")
    return result


def _read(annotations: Annotations, annotation: Any, what: str, origin: Origin) -> UserType:
    try:
        return annotations.read(annotation)
    except (ValueError, TypeError, NameError) as error:
        raise origin.refuse(f"{what}: {error}") from error


def declared(
    parameters: Sequence[UserParameter], returns: UserType, constants: Sequence[UserParameter] = ()
) -> Signature:
    """The signature that calls are matched with."""
    shown = tuple(parameter.declared for parameter in (*parameters, *constants))
    return Signature(shown, returns.type, len(constants))


@dataclass(frozen=True)
class Arguments:
    """Hands arguments over: SQL values to Python's.

    Attributes:
        readers: what makes Python's value of each argument; None: it is the same.
        required: which arguments must not be NULL.
    """

    readers: tuple[Convert | None, ...]
    required: tuple[int, ...]

    @classmethod
    def of(cls, parameters: Sequence[UserParameter], actual: Sequence[SqlType | None]) -> Arguments:
        """For a call with arguments of these types."""
        count = len(actual) - len(parameters) + 1
        types = [parameter.type for parameter in parameters for _ in range(count if parameter.variadic else 1)]
        readers = tuple(type_.reader(given) for type_, given in zip(types, actual, strict=True))
        return cls(readers, tuple(index for index, type_ in enumerate(types) if not type_.optional))

    def has_nulls(self, values: Sequence[Any]) -> bool:
        """Whether one is NULL that must not be."""
        return any(values[index] is None for index in self.required)

    def read(self, values: Sequence[Any]) -> list[Any]:
        """Python's values."""
        return [
            value if read is None or value is None else read(value)
            for read, value in zip(self.readers, values, strict=True)
        ]


class ArgumentsByCount:
    """The arguments of a function that takes any number of them.

    SQL may also hand over an array in place of them, whose length only the record knows.
    """

    def __init__(self, parameters: Sequence[UserParameter], actual: Sequence[SqlType | None] | None = None) -> None:
        self._parameters = parameters
        self._known: dict[int, Arguments] = {}
        self._actual = actual

    def __call__(self, count: int) -> Arguments:
        known = self._known.get(count)
        if known is None:
            actual = self._actual
            if actual is None or len(actual) != count:
                actual = self._spread(count)
            known = self._known[count] = Arguments.of(self._parameters, actual)
        return known

    def _spread(self, count: int) -> Sequence[SqlType | None]:
        at = next((at for at, parameter in enumerate(self._parameters) if parameter.variadic), None)
        if self._actual is None or at is None:
            return (None,) * count
        array = self._actual[at]
        item = array.item if isinstance(array, SqlArray) else None
        many = count - len(self._actual) + 1
        return (*self._actual[:at], *(item,) * many, *self._actual[at + 1 :])


def write(type_: UserType) -> Convert:
    """What makes SQL values of results."""
    convert = type_.write
    return lambda value: None if value is None else convert(value)
