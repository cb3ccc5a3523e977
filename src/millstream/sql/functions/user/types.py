"""Annotations of Python to SQL types, and values from one to the other.

==================================== ==========================================================
bool, float, str, bytes              BOOLEAN, DOUBLE, STRING, BYTES
int                                  BIGINT
Annotated[int, "INTEGER"]            INTEGER
Decimal                              DECIMAL of any precision, as a parameter
Annotated[Decimal, "DECIMAL(9, 2)"]  DECIMAL(9, 2), as a result
datetime.date, .time, .datetime      DATE, TIME, TIMESTAMP; datetimes are in UTC
list[T], dict[K, T]                  ARRAY<T>, MAP<K, T>
a dataclass                          STRUCT with its fields, their names in upper case
T | None                             T; the function is called with NULLs
a TypeVar                            a type variable
Any                                  whatever it is, as a parameter
Callable[[T], R]                     a lambda, as a parameter
==================================== ==========================================================
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import types
import typing
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from millstream.sql.functions.signature import (
    AnyType,
    ArrayOf,
    FixedDecimal,
    Lambda,
    MapOf,
    ParamType,
    Primitive,
    StructOf,
    Variable,
    parse,
)
from millstream.sql.schema.decimals import set_scale
from millstream.sql.schema.types import (
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    BaseType,
    SqlArray,
    SqlMap,
    SqlStruct,
    SqlType,
)

Convert = Callable[[Any], Any]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_MILLISECOND = datetime.timedelta(milliseconds=1)


class UserType:
    """A type, and how its values go to Python and back.

    Attributes:
        type: the type in signatures.
        optional: whether NULL is handed over.
    """

    optional = False

    def __init__(self, type: ParamType) -> None:
        self.type = type

    @property
    def parameter_type(self) -> ParamType:
        """The type as a parameter has it."""
        return self.type

    def reader(self, actual: SqlType | None) -> Convert | None:
        """What makes Python's values of those of an argument that are not NULL; None: they are the same.

        Args:
            actual: the argument's type.
        """
        return None

    def write(self, value: Any) -> Any:
        """The SQL value of one of Python's that is not None.

        Raises:
            TypeError: it is not of the type.
        """
        return value


class _Checked(UserType):
    """Values that are the same, but for what must be seen to."""

    def __init__(self, type: ParamType, classes: type | tuple[type, ...]) -> None:
        super().__init__(type)
        self.classes = classes

    def write(self, value: Any) -> Any:
        if not isinstance(value, self.classes):
            raise TypeError(f"{value!r} is not a {self.type}")
        return value


class _Whole(UserType):
    def __init__(self, base: BaseType) -> None:
        super().__init__(Primitive(base))
        self.low, self.high = (INT_MIN, INT_MAX) if base is BaseType.INTEGER else (BIGINT_MIN, BIGINT_MAX)

    def write(self, value: Any) -> Any:
        if not isinstance(value, int) or isinstance(value, bool) or not self.low <= value <= self.high:
            raise TypeError(f"{value!r} is not a {self.type}")
        return value


class _Double(UserType):
    def __init__(self) -> None:
        super().__init__(Primitive(BaseType.DOUBLE))

    def write(self, value: Any) -> Any:
        if not isinstance(value, (float, int)) or isinstance(value, bool):
            raise TypeError(f"{value!r} is not a DOUBLE")
        return float(value)


class _Decimal(UserType):
    def __init__(self, type: ParamType) -> None:
        super().__init__(type)
        self.decimal = type if isinstance(type, FixedDecimal) else None

    @property
    def parameter_type(self) -> ParamType:
        return Primitive(BaseType.DECIMAL)

    def write(self, value: Any) -> Any:
        if not isinstance(value, Decimal) or self.decimal is None:
            raise TypeError(f"{value!r} is not a {self.type}")
        try:
            fitted = set_scale(value, self.decimal.scale)
        except InvalidOperation:
            raise TypeError(f"{value!r} does not fit {self.type}") from None
        if fitted and fitted.adjusted() >= self.decimal.precision - self.decimal.scale:
            raise TypeError(f"{value!r} does not fit {self.type}")
        return fitted


class _Converted(UserType):
    """Values that are other ones in Python."""

    def __init__(self, base: BaseType, kind: type, read: Convert, write: Convert) -> None:
        super().__init__(Primitive(base))
        self.kind = kind
        self.read = read
        self.converted = write

    def reader(self, actual: SqlType | None) -> Convert | None:
        return self.read

    def write(self, value: Any) -> Any:
        if not isinstance(value, self.kind):
            raise TypeError(f"{value!r} is not a {self.type}")
        return self.converted(value)


def _read_date(days: int) -> datetime.date:
    return datetime.date.fromordinal(days + _FIRST_DAY)


def _write_date(date: datetime.date) -> int:
    return date.toordinal() - _FIRST_DAY


def _read_time(millis: int) -> datetime.time:
    seconds, milli = divmod(millis, 1000)
    return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, milli * 1000)


def _write_time(time: datetime.time) -> int:
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000


def _read_timestamp(millis: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(milliseconds=millis)


def _write_timestamp(moment: datetime.datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - _EPOCH) // _MILLISECOND


class _Array(UserType):
    def __init__(self, item: UserType) -> None:
        super().__init__(ArrayOf(item.type))
        self.item = item

    @property
    def parameter_type(self) -> ParamType:
        return ArrayOf(self.item.parameter_type)

    def reader(self, actual: SqlType | None) -> Convert | None:
        read = self.item.reader(actual.item if isinstance(actual, SqlArray) else None)
        if read is None:
            # A copy: what functions do to it is theirs.
            return list
        return lambda value: [None if item is None else read(item) for item in value]

    def write(self, value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{value!r} is not an {self.type}")
        write = self.item.write
        return [None if item is None else write(item) for item in value]


class _Map(UserType):
    def __init__(self, key: UserType, value: UserType) -> None:
        super().__init__(MapOf(key.type, value.type))
        self.key = key
        self.value = value

    @property
    def parameter_type(self) -> ParamType:
        return MapOf(self.key.parameter_type, self.value.parameter_type)

    def reader(self, actual: SqlType | None) -> Convert | None:
        key_type, value_type = (actual.key, actual.value) if isinstance(actual, SqlMap) else (None, None)
        read_key, read_value = self.key.reader(key_type), self.value.reader(value_type)
        if read_key is None and read_value is None:
            return dict

        def read(value: Any) -> Any:
            return {
                key if read_key is None or key is None else read_key(key): item
                if read_value is None or item is None
                else read_value(item)
                for key, item in value.items()
            }

        return read

    def write(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is not a {self.type}")
        write_key, write_value = self.key.write, self.value.write
        return {
            None if key is None else write_key(key): None if item is None else write_value(item)
            for key, item in value.items()
        }


class _Struct(UserType):
    def __init__(self, kind: type, fields: dict[str, UserType]) -> None:
        super().__init__(StructOf(tuple((name.upper(), field.type) for name, field in fields.items())))
        self.kind = kind
        self.fields = fields

    @property
    def parameter_type(self) -> ParamType:
        return StructOf(tuple((name.upper(), field.parameter_type) for name, field in self.fields.items()))

    def reader(self, actual: SqlType | None) -> Convert | None:
        # The fields of an argument may be in another order.
        places: list[tuple[int, Convert | None]] = []
        for index, (name, field) in enumerate(self.fields.items()):
            place = actual.index(name.upper()) if isinstance(actual, SqlStruct) else None
            type_ = actual.fields[place].type if isinstance(actual, SqlStruct) and place is not None else None
            places.append((index if place is None else place, field.reader(type_)))
        kind = self.kind

        def read(value: Any) -> Any:
            return kind(*[value[at] if read is None or value[at] is None else read(value[at]) for at, read in places])

        return read

    def write(self, value: Any) -> Any:
        if not isinstance(value, self.kind):
            raise TypeError(f"{value!r} is not a {self.kind.__name__}")
        values = [(field, getattr(value, name)) for name, field in self.fields.items()]
        return tuple([None if item is None else field.write(item) for field, item in values])


class _Optional(UserType):
    optional = True

    def __init__(self, inner: UserType) -> None:
        super().__init__(inner.type)
        self.inner = inner
        self.reader = inner.reader  # type: ignore[method-assign]
        self.write = inner.write  # type: ignore[method-assign]

    @property
    def parameter_type(self) -> ParamType:
        return self.inner.parameter_type


_PLAIN: dict[Any, Callable[[], UserType]] = {
    bool: lambda: _Checked(Primitive(BaseType.BOOLEAN), bool),
    int: lambda: _Whole(BaseType.BIGINT),
    float: _Double,
    str: lambda: _Checked(Primitive(BaseType.STRING), str),
    bytes: lambda: _Checked(Primitive(BaseType.BYTES), bytes),
    Decimal: lambda: _Decimal(Primitive(BaseType.DECIMAL)),
    datetime.date: lambda: _Converted(BaseType.DATE, datetime.date, _read_date, _write_date),
    datetime.time: lambda: _Converted(BaseType.TIME, datetime.time, _read_time, _write_time),
    datetime.datetime: lambda: _Converted(BaseType.TIMESTAMP, datetime.datetime, _read_timestamp, _write_timestamp),
    Any: lambda: _any(),
    object: lambda: _any(),
}


def _any() -> UserType:
    result = UserType(AnyType())
    result.optional = True
    return result


class Annotations:
    """Reads the annotations of one function: its type variables are named by their order."""

    def __init__(self) -> None:
        self._variables: dict[TypeVar, str] = {}

    def read(self, annotation: Any) -> UserType:
        """The type of an annotation.

        Raises:
            ValueError: it stands for no SQL type.
        """
        if annotation in _PLAIN:
            return _PLAIN[annotation]()
        if isinstance(annotation, TypeVar):
            return UserType(Variable(self._variables.setdefault(annotation, chr(ord("A") + len(self._variables)))))
        if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
            return self._struct(annotation)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self._annotated(annotation, arguments)
        if origin in (Union, types.UnionType):
            return self._union(annotation, arguments)
        if origin is list and len(arguments) == 1:
            return _Array(self.read(arguments[0]))
        if origin is dict and len(arguments) == 2:
            return _Map(self.read(arguments[0]), self.read(arguments[1]))
        if origin is collections.abc.Callable and isinstance(arguments[0], list):
            parameters = tuple(self.read(parameter).type for parameter in arguments[0])
            return UserType(Lambda(parameters, self.read(arguments[1]).type))
        raise ValueError(f"{_shown(annotation)} stands for no SQL type")

    def _annotated(self, annotation: Any, arguments: tuple[Any, ...]) -> UserType:
        text = next((text for text in arguments[1:] if isinstance(text, str)), None)
        if text is None:
            return self.read(arguments[0])
        type_ = parse(f"() -> {text}").returns
        if arguments[0] is int and type_ in (Primitive(BaseType.INTEGER), Primitive(BaseType.BIGINT)):
            return _Whole(BaseType.INTEGER if type_ == Primitive(BaseType.INTEGER) else BaseType.BIGINT)
        if arguments[0] is Decimal and isinstance(type_, FixedDecimal):
            return _Decimal(type_)
        raise ValueError(f"{_shown(annotation)} does not go together: only an int and a Decimal can be told their type")

    def _union(self, annotation: Any, arguments: tuple[Any, ...]) -> UserType:
        others = [argument for argument in arguments if argument is not type(None)]
        if len(others) != 1 or len(others) == len(arguments):
            raise ValueError(f"{_shown(annotation)} stands for no SQL type: it could be several")
        return _Optional(self.read(others[0]))

    def _struct(self, kind: type) -> UserType:
        hints = typing.get_type_hints(kind, include_extras=True)
        fields = {field.name: self.read(hints[field.name]) for field in dataclasses.fields(kind) if field.init}
        return _Struct(kind, fields)


def _shown(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not get_args(annotation) else str(annotation)


def holds_open_decimal(type_: ParamType) -> bool:
    """Whether a type has a DECIMAL whose precision is not said."""
    match type_:
        case Primitive(base):
            return base is BaseType.DECIMAL
        case ArrayOf(item):
            return holds_open_decimal(item)
        case MapOf(key, value):
            return holds_open_decimal(key) or holds_open_decimal(value)
        case StructOf(fields):
            return any(holds_open_decimal(field) for _, field in fields)
    return False
