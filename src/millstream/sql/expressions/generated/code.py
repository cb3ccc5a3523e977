"""Pieces of generated Python."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from millstream.sql.errors import SqlError
from millstream.sql.schema.types import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    INT_MAX,
    INT_MIN,
    INTEGER,
    BaseType,
    SqlType,
)

#: For code whose value is not known before it runs.
UNKNOWN: Final = object()

RANGES = {INTEGER: (INT_MIN, INT_MAX), BIGINT: (BIGINT_MIN, BIGINT_MAX)}

#: What generated code says itself.
_RESERVED = {*keyword.kwlist, "r", "error", "Exception", "float", "len", "str", "failures", "evaluate"}


@dataclass(frozen=True)
class Code:
    """A Python expression.

    Attributes:
        text: in parentheses, unless nothing can bind stronger.
        kind: the type of its value; None for NULL.
        nullable: whether it can be None.
        raises: whether it can raise.
        atom: whether it is a name or a constant, so that it can stand several times.
        value: what it is, when that is known.
        bounds: of whole numbers: the least and the greatest it can be.
        wraps: the value is still to be cut to the bits of its type.
    """

    text: str
    kind: SqlType | None
    nullable: bool = True
    raises: bool = False
    atom: bool = False
    value: Any = UNKNOWN
    bounds: tuple[int, int] | None = None
    wraps: bool = False

    @property
    def is_constant(self) -> bool:
        return self.value is not UNKNOWN

    @property
    def type(self) -> SqlType:
        """The type of its value, which is not NULL."""
        if self.kind is None:
            raise SqlError("NULL has no type")
        return self.kind

    @property
    def base(self) -> BaseType | None:
        return None if self.kind is None else self.kind.base

    def range(self) -> tuple[int, int]:
        """The least and the greatest that a whole number can be."""
        if self.bounds is not None:
            return self.bounds
        return RANGES[self.type]

    def but(self, **changes: Any) -> Code:
        """The same with something else."""
        return replace(self, **changes)


@dataclass
class Body:
    """The statements of a function that is being written.

    Attributes:
        lazy: inside an expression that may not be evaluated at all: then no statement can be put before it.
    """

    lines: list[str] = field(default_factory=list)
    lazy: bool = False

    def add(self, *lines: str) -> None:
        self.lines.extend(lines)

    @contextmanager
    def inside_condition(self) -> Iterator[None]:
        """What is written meanwhile is evaluated on a condition."""
        before, self.lazy = self.lazy, True
        try:
            yield
        finally:
            self.lazy = before


def indented(lines: list[str]) -> list[str]:
    """Lines one step further right."""
    return [f"    {line}" for line in lines]


class Names:
    """Names that are used once, and the values of those that are global."""

    def __init__(self) -> None:
        self._taken = set(_RESERVED)
        self._known: dict[Any, str] = {}
        self.globals: dict[str, Any] = {}

    def unique(self, wish: str) -> str:
        """A name like the one wished for."""
        cleaned = re.sub(r"\W", "_", wish.lower(), flags=re.ASCII).strip("_") or "value"
        base = f"n{cleaned}" if cleaned[0].isdigit() else cleaned
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def temporary(self) -> str:
        """A name for something in between."""
        return self.unique("t")

    def of(self, wish: str, value: Any) -> str:
        """The name of a global; the same value has one name."""
        key = (wish, id(value))
        if key not in self._known:
            name = self.unique(wish)
            self._known[key] = name
            self.globals[name] = value
        return self._known[key]
