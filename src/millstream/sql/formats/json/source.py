"""Python source that is written by programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Source:
    """Lines of a function in the making, and the values that its names stand for."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0
        self.names: dict[str, Any] = {}

    def line(self, text: str) -> None:
        """Add a line."""
        self._lines.append("    " * self._depth + text)

    def indent(self) -> None:
        """What follows is inside of the line before."""
        self._depth += 1

    def dedent(self, levels: int = 1) -> None:
        """End what `indent` began."""
        self._depth -= levels

    def fresh(self, prefix: str = "v") -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, value: Any, prefix: str = "c") -> str:
        """A name for a value."""
        name = self.fresh(prefix)
        self.names[name] = value
        return name

    def function(self, name: str, label: str) -> Callable[..., Any]:
        """Compile, and take one of the functions that the lines define.

        Args:
            name: of the function.
            label: what tracebacks call the source.
        """
        text = "\n".join(self._lines) + "\n"
        exec(compile(text, f"<{label}>", "exec"), self.names)  # noqa: S102  # names inside come from `repr` only
        function: Callable[..., Any] = self.names[name]
        return function
