"""Readers of JSON rows, generated for their columns.

A reader parses with a fast parser and only looks whether each value is of the class its column wants. Whatever is not
(numbers in quotes, fractions for whole numbers, nested JSON for text, broken JSON) goes through `exact.py`, which
converts or says what is wrong.
"""

from __future__ import annotations

import binascii
import decimal
from collections.abc import Callable, Sequence
from decimal import Decimal

import msgspec
import orjson

from millstream.sql.formats.format import Row
from millstream.sql.formats.json.exact import CoercionError, coerce, field_names, parse
from millstream.sql.formats.json.quick import quick_reader
from millstream.sql.formats.json.source import Source
from millstream.sql.formats.times import DAY_MS
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import (
    BIGINT_MAX,
    INT_MAX,
    INT_MIN,
    BaseType,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)

#: How deep types may be nested: Python allows 20 loops inside of each other, and not many more blocks.
_DEEPEST = 15

#: How many different sets of names a reader remembers; records can have any.
_LAYOUTS = 1000

#: What is false for values that are surely of the type, by an expression over `{v}`.
_UNSURE = {
    BaseType.BOOLEAN: "{v}.__class__ is not bool",
    BaseType.INTEGER: f"{{v}}.__class__ is not int or not {INT_MIN} <= {{v}} <= {INT_MAX}",
    BaseType.DATE: f"{{v}}.__class__ is not int or not {INT_MIN} <= {{v}} <= {INT_MAX}",
    BaseType.BIGINT: f"{{v}}.__class__ is not int or {{v}} > {BIGINT_MAX}",
    BaseType.TIMESTAMP: f"{{v}}.__class__ is not int or {{v}} > {BIGINT_MAX}",
    BaseType.TIME: f"{{v}}.__class__ is not int or not 0 <= {{v}} <= {DAY_MS}",
}


def json_reader(columns: Sequence[Column], *, unwrapped: bool) -> Callable[[bytes], Row]:
    """The function that reads rows.

    Args:
        columns: the columns of the rows.
        unwrapped: the JSON is the value of the single column itself.
    """
    record = SqlStruct(tuple(Field(column.name, column.type) for column in columns))
    kind = columns[0].type if unwrapped else record

    def exact(data: bytes) -> Row:
        value = coerce(kind, parse(data))
        if unwrapped:
            return (value,)
        if value is None:
            raise CoercionError("Can't convert type. sourceType: NullNode, requiredType: STRUCT", "$")
        row: Row = value
        return row

    if _depth(record) > _DEEPEST:
        return exact
    source = Source()
    source.names["exact"] = exact
    _parser(source, decimals=any(_has_decimal(column.type) for column in columns))
    source.line("def read(data):")
    source.indent()
    source.line("try:")
    source.line("    d = loads(data)")
    source.line("except Unreadable:")
    source.line("    return exact(data)")
    if unwrapped:
        _convert(source, kind, "d")
        source.line("return (d,)")
    else:
        source.line("if d.__class__ is not dict:")
        source.line("    return exact(data)")
        values = _take_columns(source, record)
        for value, column in zip(values, columns, strict=True):
            _convert(source, column.type, value)
        source.line(f"return ({''.join(f'{value}, ' for value in values)})")
    careful: Callable[[bytes], Row] = source.function("read", "JSON reader")
    return careful if unwrapped else quick_reader(columns, careful)


def _depth(kind: SqlType) -> int:
    """How many types are inside of each other."""
    inner: list[SqlType] = []
    if isinstance(kind, SqlArray):
        inner = [kind.item]
    elif isinstance(kind, SqlMap):
        inner = [kind.value]
    elif isinstance(kind, SqlStruct):
        inner = [field.type for field in kind.fields]
    return 1 + max(map(_depth, inner), default=0)


def _parser(source: Source, *, decimals: bool) -> None:
    # Fractions are floats to orjson: too short for decimals, so that those are read by msgspec.
    source.names["loads"] = msgspec.json.Decoder(float_hook=Decimal).decode if decimals else orjson.loads
    source.names["Unreadable"] = (orjson.JSONDecodeError, msgspec.DecodeError, UnicodeDecodeError)
    source.names["Decimal"] = Decimal
    source.names["decode_base64"] = binascii.a2b_base64


def _has_decimal(kind: SqlType) -> bool:
    if isinstance(kind, SqlArray):
        return _has_decimal(kind.item)
    if isinstance(kind, SqlMap):
        return _has_decimal(kind.value)
    if isinstance(kind, SqlStruct):
        return any(_has_decimal(field.type) for field in kind.fields)
    return isinstance(kind, SqlDecimal)


def _take_columns(source: Source, record: SqlStruct) -> list[str]:
    """Variables for the columns of the record `d`: found by their own names as long as all records have them."""
    values = [source.fresh() for _ in record.fields]
    if not values:
        return values
    source.names["exact_names"] = True
    source.line("global exact_names")
    source.line("if exact_names:")
    source.line("    try:")
    for value, field in zip(values, record.fields, strict=True):
        source.line(f"        {value} = d[{field.name!r}]")
    source.line("    except KeyError:")
    source.line("        exact_names = False")
    source.line("if not exact_names:")
    source.indent()
    _take_fields(source, record, "d", values)
    source.dedent()
    return values


def _take_fields(source: Source, record: SqlStruct, holder: str, values: Sequence[str]) -> None:
    """Variables for the fields of any object: where each one is depends on the names that the object has."""
    layouts: dict[tuple[str, ...], tuple[str | None, ...]] = {}

    def find(present: tuple[str, ...]) -> tuple[str | None, ...]:
        names = field_names(record, present)
        if len(layouts) < _LAYOUTS:
            layouts[present] = names
        return names

    known, find_names = source.constant(layouts, "layouts"), source.constant(find, "find")
    present, names = source.fresh("present"), [source.fresh("n") for _ in values]
    source.line(f"{present} = tuple({holder})")
    source.line(f"{', '.join(names)}, = {known}.get({present}) or {find_names}({present})")
    for value, name in zip(values, names, strict=True):
        source.line(f"{value} = None if {name} is None else {holder}[{name}]")


def _convert(source: Source, kind: SqlType, value: str) -> None:
    """Lines that make a variable's parsed JSON a value of the type."""
    if isinstance(kind, SqlDecimal):
        _convert_decimal(source, kind, value)
    elif isinstance(kind, SqlArray):
        _convert_array(source, kind, value)
    elif isinstance(kind, SqlMap):
        _convert_map(source, kind, value)
    elif isinstance(kind, SqlStruct):
        _convert_struct(source, kind, value)
    elif kind.base is BaseType.DOUBLE:
        source.line(f"if {value}.__class__ is not float:")
        source.line(f"    if {value}.__class__ is int or {value}.__class__ is Decimal:")
        source.line(f"        {value} = float({value})")
        source.line(f"    elif {value} is not None:")
        source.line("        return exact(data)")
    elif kind.base is BaseType.STRING:
        source.line(f"if {value}.__class__ is not str:")
        source.line(f"    if {value}.__class__ is int:")
        source.line(f"        {value} = str({value})")
        source.line(f"    elif {value} is not None:")
        source.line("        return exact(data)")
    elif kind.base is BaseType.BYTES:
        source.line(f"if {value} is not None:")
        source.line("    try:")
        source.line(f"        {value} = decode_base64({value}, strict_mode=True)")
        source.line("    except (TypeError, ValueError):")
        source.line("        return exact(data)")
    else:
        source.line(f"if {_UNSURE[kind.base].format(v=value)}:")
        source.line(f"    if {value} is not None:")
        source.line("        return exact(data)")


def _convert_decimal(source: Source, kind: SqlDecimal, value: str) -> None:
    # The context refuses what has too many digits on either side of the point.
    context = decimal.Context(prec=kind.precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    quantize = source.constant(context.quantize, "quantize")
    unit = source.constant(Decimal(1).scaleb(-kind.scale), "unit")
    source.line(f"if {value} is not None:")
    source.line(f"    if {value}.__class__ is int:")
    source.line(f"        {value} = Decimal({value})")
    source.line(f"    elif {value}.__class__ is not Decimal:")
    source.line("        return exact(data)")
    source.line("    try:")
    source.line(f"        {value} = {quantize}({value}, {unit})")
    source.line("    except ArithmeticError:")
    source.line("        return exact(data)")
    source.line(f"    if not {value}:")
    source.line(f"        {value} = {value}.copy_abs()")  # Java has no negative zero


def _keeps_values(kind: SqlType) -> bool:
    """Whether values are what the parser made of them, so that they need only be looked at."""
    if isinstance(kind, SqlArray):
        return _keeps_values(kind.item)
    if isinstance(kind, SqlMap):
        return _keeps_values(kind.value)
    return kind.base in _UNSURE


def _convert_array(source: Source, kind: SqlArray, value: str) -> None:
    item, items = source.fresh(), source.fresh()
    source.line(f"if {value}.__class__ is list:")
    source.indent()
    if _keeps_values(kind):
        source.line(f"for {item} in {value}:")
        source.indent()
        _convert(source, kind.item, item)
        source.dedent()
    else:
        source.line(f"{items} = []")
        source.line(f"for {item} in {value}:")
        source.indent()
        _convert(source, kind.item, item)
        source.line(f"{items}.append({item})")
        source.dedent()
        source.line(f"{value} = {items}")
    source.dedent()
    _else_exact(source, value)


def _convert_map(source: Source, kind: SqlMap, value: str) -> None:
    key, item, items = source.fresh(), source.fresh(), source.fresh()
    source.line(f"if {value}.__class__ is dict:")
    source.indent()
    if _keeps_values(kind):
        source.line(f"for {item} in {value}.values():")
        source.indent()
        _convert(source, kind.value, item)
        source.dedent()
    else:
        source.line(f"{items} = {{}}")
        source.line(f"for {key}, {item} in {value}.items():")
        source.indent()
        _convert(source, kind.value, item)
        source.line(f"{items}[{key}] = {item}")
        source.dedent()
        source.line(f"{value} = {items}")
    source.dedent()
    _else_exact(source, value)


def _convert_struct(source: Source, kind: SqlStruct, value: str) -> None:
    fields = [source.fresh() for _ in kind.fields]
    source.line(f"if {value}.__class__ is dict:")
    source.indent()
    if fields:
        _take_fields(source, kind, value, fields)
    for variable, field in zip(fields, kind.fields, strict=True):
        _convert(source, field.type, variable)
    source.line(f"{value} = ({''.join(f'{variable}, ' for variable in fields)})")
    source.dedent()
    _else_exact(source, value)


def _else_exact(source: Source, value: str) -> None:
    source.line(f"elif {value} is not None:")
    source.line("    return exact(data)")
