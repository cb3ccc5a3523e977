"""Which names are taken and what is said about others."""

from __future__ import annotations

import pytest

from millstream.errors import TopologyError
from millstream.topology import check_name


@pytest.mark.parametrize("name", ["a", "KSTREAM-SOURCE-0000000000", "x.y_z-1", "n" * 249])
def test_legal_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "name is illegal, it can't be empty"),
        (".", 'name cannot be "."'),
        ("..", 'name cannot be ".."'),
        ("n" * 250, "name is illegal, it can't be longer than 249 characters"),
        ("x!y", "name \"x!y\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"),
        ("é", "name \"é\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"),
        (
            "line\n",
            "name \"line\n\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'",
        ),
    ],
)
def test_illegal_names(name: str, message: str) -> None:
    with pytest.raises(TopologyError) as error:
        check_name(name)
    assert error.value.primary == message


def test_what_is_named_is_said() -> None:
    with pytest.raises(TopologyError) as error:
        check_name("a b", "state store")
    assert error.value.detail == "it names a state store"


def test_a_name_is_a_string() -> None:
    with pytest.raises(TopologyError, match="the name of a topic must be a string") as error:
        check_name(None, "topic")  # type: ignore[arg-type]
    assert error.value.detail == "got None, of type NoneType"
