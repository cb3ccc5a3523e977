"""SPOOL: a file that gets what the screen gets."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console, RenderableType

from millstream.shell.errors import ShellError

#: Tables in files are not made to fit: a row is a line.
_WIDTH = 100_000


class Spool:
    """An open file.

    Args:
        path: it is made anew.

    Raises:
        ShellError: it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ShellError(f"cannot write to {path}", detail=str(error)) from error
        self._console = Console(
            file=self._file, width=_WIDTH, color_system=None, force_terminal=False, highlight=False, soft_wrap=True
        )

    def print(self, content: RenderableType) -> None:
        """Write what the screen shows."""
        self._console.print(content)
        self._file.flush()  # people look into it while more comes

    def close(self) -> None:
        """That was all. Safe to call again."""
        self._file.close()
