"""Every operator, option and window has a docstring with an example; that the examples run is what doctest shows."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import millstream

DOCUMENTED = ("millstream.dsl.", "millstream.windows", "millstream.suppressed")


def classes() -> list[type[Any]]:
    found = [getattr(millstream, name) for name in millstream.__all__]
    return [kind for kind in found if inspect.isclass(kind) and kind.__module__.startswith(DOCUMENTED)]


def public(kind: type[Any]) -> Iterator[tuple[str, str]]:
    """The class's methods and properties, also those of the parts it is made of, with their docstrings."""
    parts = [part for part in kind.__mro__ if part.__module__.startswith(DOCUMENTED)]
    for name, member in (item for part in parts for item in vars(part).items()):
        if not name.startswith("_") and isinstance(member, classmethod | property | staticmethod | type(public)):
            yield name, inspect.getdoc(member) or ""


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_examples(kind: type[Any]) -> None:
    documented = {kind.__name__: kind.__doc__ or "", **dict(public(kind))}
    assert [name for name, text in documented.items() if ">>> " not in text] == []


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_options_describe_their_fields(kind: type[Any]) -> None:
    text = kind.__doc__ or ""
    if dataclasses.is_dataclass(kind) and "Args:" in text:
        assert [field.name for field in dataclasses.fields(kind) if f"    {field.name}: " not in text] == []
