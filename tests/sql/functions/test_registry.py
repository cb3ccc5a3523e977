"""What the registry knows."""

from __future__ import annotations

import pytest

from millstream.sql.errors import SqlError
from millstream.sql.functions.declare import Declarations
from millstream.sql.functions.model import ArgumentDescription, VariantDescription
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.schema.types import INTEGER


def declared(name: str, signature: str) -> Declarations:
    declarations = Declarations("TEST", author="me")

    @declarations.scalar(name, signature)
    def body(*arguments: int) -> int:
        """Adds.

        And more.
        """
        return sum(arguments)

    return declarations


def test_finds_functions_in_any_case() -> None:
    registry = default_registry()
    assert registry.scalar("uCaSe") is registry.scalar("UCASE") is not None
    assert registry.is_aggregate("count")
    assert registry.is_table_function("Explode")
    assert registry.exists("len")
    assert not registry.exists("nope")


def test_says_that_a_function_is_unknown() -> None:
    with pytest.raises(SqlError, match="Can't find any functions with the name 'NOPE'"):
        default_registry().require_scalar("NOPE")


def test_there_are_all_functions_of_ksqldb() -> None:
    kinds = [description.kind for description in default_registry().describe()]
    assert (kinds.count("SCALAR"), kinds.count("AGGREGATE"), kinds.count("TABLE")) == (129, 18, 2)


def test_describes_functions() -> None:
    registry = Registry()
    registry.add(declared("Add", "(INT a, INT... b) -> BIGINT"))
    (description,) = registry.describe()
    assert (description.name, description.kind, description.category) == ("ADD", "SCALAR", "TEST")
    assert (description.description, description.author) == ("Adds.", "me")
    arguments = (ArgumentDescription("a", "INT"), ArgumentDescription("b", "INT", True))
    assert description.variants == (VariantDescription(arguments, "BIGINT", "Adds."),)


def test_every_function_is_described() -> None:
    assert not [found.name for found in default_registry().describe() if not found.description or not found.category]


def test_own_functions_stay_in_their_registry() -> None:
    registry = default_registry()
    registry.add(declared("own", "(INT a) -> BIGINT"))
    registry.add(declared("ucase", "(INT a) -> BIGINT"))
    assert registry.require_scalar("ucase").resolve([INTEGER], {}).function(3) == 3
    assert not default_registry().exists("own")
    with pytest.raises(SqlError, match="does not accept parameters"):
        default_registry().require_scalar("ucase").resolve([INTEGER], {})


@pytest.mark.parametrize("name", ["count", "explode"])
def test_a_name_is_of_one_kind(name: str) -> None:
    with pytest.raises(SqlError, match="another kind of function"):
        default_registry().add(declared(name, "(INT a) -> BIGINT"))


def test_a_variant_is_declared_once() -> None:
    registry = Registry()
    registry.add(declared("add", "(INT a) -> BIGINT"))
    with pytest.raises(SqlError, match="already exists"):
        registry.add(declared("ADD", "(INT b) -> INT"))
