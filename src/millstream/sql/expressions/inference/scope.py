"""What names in expressions stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from millstream.sql.functions.model import ScalarCall
from millstream.sql.functions.registry import Registry
from millstream.sql.schema.columns import Column, Schema
from millstream.sql.schema.types import SqlType
from millstream.sql.tree.expressions import FunctionCall


@dataclass(frozen=True)
class Scope:
    """Where expressions are looked at.

    Attributes:
        columns: the types of the columns of the row, by name.
        functions: the functions there are.
        lambdas: the types of the parameters of the lambdas around the expression.
        config: settings of functions and of casts.
        calls: what calls were found to mean, by the identity of the call (which is kept, so that it stays its own).
    """

    columns: Mapping[str, SqlType]
    functions: Registry
    lambdas: Mapping[str, SqlType] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    calls: dict[int, tuple[FunctionCall, ScalarCall]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(
        cls, schema: Schema | Iterable[Column], functions: Registry, config: Mapping[str, Any] | None = None
    ) -> Scope:
        """The scope of a row: the value columns of a schema, or the columns given."""
        columns = schema.value if isinstance(schema, Schema) else schema
        return cls({column.name: column.type for column in columns}, functions, {}, config or {})

    def inside(self, parameters: Iterable[tuple[str, SqlType]]) -> Scope:
        """The scope of the body of a lambda."""
        return replace(self, lambdas={**self.lambdas, **dict(parameters)}, calls={})
