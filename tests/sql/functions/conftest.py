"""Calls of functions, the way expressions make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.functions.model import Argument, LambdaType
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.schema.types import SqlType

#: `(name, (type, value), ...)` to the result.
Evaluate = Callable[..., Any]


@pytest.fixture(scope="session")
def registry() -> Registry:
    """The built-in functions."""
    return default_registry()


@pytest.fixture(scope="session")
def evaluate(registry: Registry) -> Evaluate:
    """Evaluates a call of arguments that need no widening."""

    def run(name: str, *arguments: tuple[Argument, Any]) -> Any:
        call = registry.require_scalar(name).resolve([type_ for type_, _ in arguments], {})
        assert not any(isinstance(parameter, SqlType | LambdaType) for parameter in call.parameters)
        values = [value for _, value in arguments]
        if not call.pass_null and any(value is None for value in values):
            return None
        return call.function(*values)

    return run
