"""Signatures of functions, written as text and matched against the types of arguments.

A signature reads `(STRING text, INTEGER... positions) -> ARRAY<STRING>`:

* the types of SQL; `DECIMAL` without parameters is every DECIMAL, `STRUCT` without fields every struct;
* one capital letter, perhaps with digits, is a type variable: `(ARRAY<T>, T) -> T`;
* `ANY` takes everything, `INTERVALUNIT` a unit of time, `LAMBDA (T, U) -> V` a lambda;
* `...` after a type: as many arguments of it as there are (at most once, anywhere);
* a name after the type is for messages and for DESCRIBE FUNCTION;
* what follows a `;` are constants of an aggregate: `(T value; INTEGER size) -> ARRAY<T>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.sql.errors import SqlError
from millstream.sql.schema.types import BaseType, Field, SqlArray, SqlDecimal, SqlMap, SqlStruct, SqlType

#: What the type variables of a signature stand for in a call.
Bindings = dict[str, SqlType]


@dataclass(frozen=True, slots=True)
class ParamType:
    """What a parameter takes."""


@dataclass(frozen=True, slots=True)
class Primitive(ParamType):
    """A type without parts; DECIMAL of any precision."""

    base: BaseType

    def __str__(self) -> str:
        return _PRIMITIVE_TEXT.get(self.base, self.base.value)


@dataclass(frozen=True, slots=True)
class FixedDecimal(ParamType):
    """A DECIMAL of one precision and scale; only as a result."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayOf(ParamType):
    """ARRAY<item>."""

    item: ParamType

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapOf(ParamType):
    """MAP<key, value>."""

    key: ParamType
    value: ParamType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructOf(ParamType):
    """STRUCT<...>; without fields it is every struct."""

    fields: tuple[tuple[str, ParamType], ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{name} {type_}' for name, type_ in self.fields)}>"


@dataclass(frozen=True, slots=True)
class Variable(ParamType):
    """A type variable."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class AnyType(ParamType):
    """Takes everything."""

    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True, slots=True)
class IntervalUnit(ParamType):
    """A unit of time."""

    def __str__(self) -> str:
        return "INTERVALUNIT"


@dataclass(frozen=True, slots=True)
class Lambda(ParamType):
    """A lambda."""

    parameters: tuple[ParamType, ...]
    returns: ParamType

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.returns}"


_PRIMITIVE_TEXT = {BaseType.INTEGER: "INT", BaseType.STRING: "VARCHAR"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a signature."""

    type: ParamType
    name: str = ""
    variadic: bool = False

    def __str__(self) -> str:
        text = f"{self.type}..." if self.variadic else str(self.type)
        return f"{text} {self.name}" if self.name else text


@dataclass(frozen=True, slots=True)
class Signature:
    """What a variant of a function takes and gives.

    Attributes:
        constants: how many parameters at the end must be constants (aggregates).
    """

    parameters: tuple[Parameter, ...]
    returns: ParamType
    constants: int = 0

    @property
    def variadic(self) -> int | None:
        """Which parameter takes any number of arguments."""
        for index, parameter in enumerate(self.parameters):
            if parameter.variadic:
                return index
        return None

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))}) -> {self.returns}"


def variables(type_: ParamType) -> Iterator[str]:
    """The type variables within a type."""
    match type_:
        case Variable(name):
            yield name
        case ArrayOf(item):
            yield from variables(item)
        case MapOf(key, value):
            yield from variables(key)
            yield from variables(value)
        case StructOf(fields):
            for _, field_type in fields:
                yield from variables(field_type)
        case Lambda(parameters, returns):
            for parameter in parameters:
                yield from variables(parameter)
            yield from variables(returns)


def is_generic(type_: ParamType) -> bool:
    """Whether a type has variables."""
    return next(variables(type_), None) is not None


def apply(type_: ParamType, bindings: Bindings) -> SqlType:
    """The SQL type that a type of a signature stands for.

    >>> str(apply(parse("() -> ARRAY<T>").returns, {"T": SqlType(BaseType.BIGINT)}))
    'ARRAY<BIGINT>'
    """
    match type_:
        case Primitive(base) if base is not BaseType.DECIMAL:
            return SqlType(base)
        case FixedDecimal(precision, scale):
            return SqlDecimal(precision, scale)
        case ArrayOf(item):
            return SqlArray(apply(item, bindings))
        case MapOf(key, value):
            return SqlMap(apply(key, bindings), apply(value, bindings))
        case StructOf(fields):
            return SqlStruct(tuple(Field(name, apply(field_type, bindings)) for name, field_type in fields))
        case Variable(name):
            if name not in bindings:
                raise SqlError(f"Could not find mapping for generic type: {name}")
            return bindings[name]
    raise SqlError(f"Cannot convert param type to sql type: {type_}")


_TOKEN = re.compile(r"\s*(?:(\.\.\.|->|=>|[(),;<>])|(`[^`]+`|[A-Za-z_0-9]+))")
_VARIABLE = re.compile(r"[A-Z][0-9]?")
_ALIASES = {"INT": BaseType.INTEGER, "VARCHAR": BaseType.STRING}


def parse(text: str) -> Signature:
    """Reads a signature.

    >>> print(parse("(STRING text, INTEGER... at) -> ARRAY<STRING>"))
    (VARCHAR text, INT... at) -> ARRAY<VARCHAR>
    """
    return _Reader(text).signature()


class _Reader:
    """Reads one signature, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error()
            self.tokens.append(match.group(1) or match.group(2))
            position = match.end()
        self.index = 0

    def error(self) -> ValueError:
        return ValueError(f"not a signature: {self.text!r}")

    def peek(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise self.error()
        self.index += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.index += 1
            return True
        return False

    def signature(self) -> Signature:
        self.take("(")
        parameters: list[Parameter] = []
        constants_from: int | None = None
        while not self.accept(")"):
            if self.accept(";"):
                constants_from = len(parameters)
            elif parameters:
                self.take(",")
            parameters.append(self.parameter())
        self.take("->")
        returns = self.type()
        if self.peek() or sum(parameter.variadic for parameter in parameters) > 1:
            raise self.error()
        constants = 0 if constants_from is None else len(parameters) - constants_from
        return Signature(tuple(parameters), returns, constants)

    def parameter(self) -> Parameter:
        type_ = self.type()
        variadic = self.accept("...")
        name = self.take() if self.peek() not in {",", ";", ")"} else ""
        return Parameter(type_, name, variadic)

    def type(self) -> ParamType:
        word = self.take()
        if word == "ARRAY":
            (item,) = self.arguments(1)
            return ArrayOf(item)
        if word == "MAP":
            key, value = self.arguments(2)
            return MapOf(key, value)
        if word == "STRUCT":
            return self.struct()
        if word == "LAMBDA":
            return self.lambda_()
        if word == "ANY":
            return AnyType()
        if word == "INTERVALUNIT":
            return IntervalUnit()
        if word == "DECIMAL" and self.peek() == "(":
            return self.decimal()
        if word in _ALIASES:
            return Primitive(_ALIASES[word])
        if word in BaseType.__members__:
            return Primitive(BaseType[word])
        if _VARIABLE.fullmatch(word):
            return Variable(word)
        raise self.error()

    def arguments(self, count: int) -> Sequence[ParamType]:
        self.take("<")
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        self.take(">")
        if len(types) != count:
            raise self.error()
        return types

    def struct(self) -> StructOf:
        fields: list[tuple[str, ParamType]] = []
        if self.accept("<"):
            while not self.accept(">"):
                if fields:
                    self.take(",")
                name = self.take().strip("`")
                fields.append((name, self.type()))
        return StructOf(tuple(fields))

    def lambda_(self) -> Lambda:
        self.take("(")
        parameters = [self.type()]
        while self.accept(","):
            parameters.append(self.type())
        self.take(")")
        if not self.accept("=>"):
            self.take("->")
        return Lambda(tuple(parameters), self.type())

    def decimal(self) -> FixedDecimal:
        self.take("(")
        precision = int(self.take())
        self.take(",")
        scale = int(self.take())
        self.take(")")
        return FixedDecimal(precision, scale)
