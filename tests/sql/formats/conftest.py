"""What tests of formats share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.formats import InMemoryRegistry, RowSerde, serde
from millstream.sql.parser import parse_schema
from millstream.sql.schema.columns import Column, Namespace
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo
from millstream.sql.tree.statements import Constraint

Make = Callable[..., RowSerde]


@pytest.fixture
def columns() -> Callable[[str], list[Column]]:
    """Columns from the text of a schema: `ID INT KEY, NAME STRING`."""
    return _columns


def _columns(text: str) -> list[Column]:
    return [
        Column(part.name, part.type, Namespace.KEY if part.constraint is Constraint.KEY else Namespace.VALUE)
        for part in parse_schema(text)
    ]


@pytest.fixture
def registry() -> InMemoryRegistry:
    return InMemoryRegistry()


@pytest.fixture
def make(registry: InMemoryRegistry) -> Make:
    """Makes serdes: `make("JSON", "A INT", unwrapped=True)`."""

    def make_serde(
        format_name: str, schema: str, *, unwrapped: bool = False, is_key: bool = False, **properties: Any
    ) -> RowSerde:
        features = frozenset({Feature.UNWRAP_SINGLES} if unwrapped else ())
        info = FormatInfo(format_name, tuple(sorted((name, str(value)) for name, value in properties.items())))
        return serde(Encoding(info, features), _columns(schema), is_key=is_key, registry=registry, topic="t")

    return make_serde
