"""Where a user's function is, for errors."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millstream.sql.errors import FunctionError, SqlError


class Origin:
    """A function's SQL name, and its place in Python.

    Args:
        name: how SQL calls it.
        target: the function or class.
    """

    def __init__(self, name: str, target: Callable[..., Any]) -> None:
        self.name = name
        self.file, self.line = _place(target)

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"

    def refuse(self, problem: str) -> SqlError:
        """The error of a declaration."""
        return SqlError(
            f"Function '{self.name}' cannot be used: {problem} ({self})",
            detail=f"It is declared in {self.file}, line {self.line}.",
        )

    def failure(self, error: Exception) -> FunctionError:
        """The error of a call, with the line of the user's code that failed."""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.file]
        place = f"{Path(self.file).name}:{(lines or [self.line])[-1]}"
        return FunctionError(f"Function '{self.name}' failed: {type(error).__name__}: {error} ({place})")


def _place(target: Any) -> tuple[str, int]:
    target = inspect.unwrap(target) if callable(target) else target
    code = getattr(target, "__code__", None)
    if code is not None:
        return code.co_filename, code.co_firstlineno
    try:
        return inspect.getfile(target), inspect.getsourcelines(target)[1]
    except (OSError, TypeError):
        return "<unknown>", 0
