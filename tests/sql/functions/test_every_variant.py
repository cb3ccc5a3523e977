"""What holds for every built-in function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cloudpickle
import pytest

from millstream.sql.functions.declare import AggregateVariant, ScalarVariant, TableVariant
from millstream.sql.functions.model import Argument, IntervalArgument, LambdaArgument
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.functions.resolution import find
from millstream.sql.functions.signature import (
    AnyType,
    ArrayOf,
    IntervalUnit,
    Lambda,
    MapOf,
    ParamType,
    Primitive,
    StructOf,
    is_generic,
)
from millstream.sql.schema.types import (
    BOOLEAN,
    INTEGER,
    STRING,
    BaseType,
    Field,
    SqlArray,
    SqlDecimal,
    SqlMap,
    SqlStruct,
    SqlType,
)


def sample_type(type_: ParamType) -> SqlType:
    """A type that a type of a signature stands for; INTEGER for variables."""
    match type_:
        case Primitive(base):
            return SqlDecimal(6, 2) if base is BaseType.DECIMAL else SqlType(base)
        case ArrayOf(item):
            return SqlArray(sample_type(item))
        case MapOf(key, value):
            return SqlMap(sample_type(key), sample_type(value))
        case StructOf(fields):
            return SqlStruct(tuple(Field(name, sample_type(field)) for name, field in fields) or (Field("A", STRING),))
    return INTEGER


def sample(type_: ParamType) -> Argument:
    """An argument that a parameter takes."""
    match type_:
        case Lambda(parameters, returns):
            return LambdaArgument(len(parameters), lambda _: BOOLEAN if str(returns) == "BOOLEAN" else INTEGER)
        case IntervalUnit():
            return IntervalArgument()
        case AnyType():
            return INTEGER
    return sample_type(type_)


AnyVariant = ScalarVariant | AggregateVariant | TableVariant


def all_variants() -> Iterator[Any]:
    registry = default_registry()
    for description in registry.describe():
        factory = (
            registry.scalar(description.name)
            or registry.aggregate(description.name)
            or registry.table(description.name)
        )
        assert factory is not None
        for variant in factory.variants:
            yield pytest.param(description.name, variant, id=f"{description.name}{variant.signature}")


@pytest.mark.parametrize(("name", "variant"), list(all_variants()))
def test_a_variant_takes_what_it_declares_and_goes_to_other_processes(
    registry: Registry, name: str, variant: AnyVariant
) -> None:
    parameters = [parameter.type for parameter in variant.signature.parameters]
    arguments = [sample(type_) for type_ in parameters]
    call: Any
    if scalar := registry.scalar(name):
        if not any(map(is_generic, parameters)):
            assert find(name, scalar.variants, arguments, widen=True).variant is variant
        call = scalar.resolve(arguments, {})
    elif aggregate := registry.aggregate(name):
        call = aggregate.resolve(arguments, [1] * aggregate.constants(arguments), {})
    else:
        table = registry.table(name)
        assert table is not None
        call = table.resolve(arguments, {})
    assert cloudpickle.loads(cloudpickle.dumps(call)).returns == call.returns
