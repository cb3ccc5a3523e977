"""The packages as a tree, with what each says of itself in its docstring; as a script, prints that."""

from __future__ import annotations

import ast
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / "src" / "millstream"

_COLUMN = 34


def summary(file: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def listing(folder: Path = SOURCE, depth: int = 0) -> list[str]:
    """A line per package, and per module beside packages; the modules of other packages are not told one by one."""
    packages = sorted(path.parent for path in folder.glob("*/__init__.py"))
    lines = [_line(f"{folder.name}/", depth, summary(folder / "__init__.py"))]
    for package in packages:
        lines += listing(package, depth + 1)
    if packages:
        modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
        lines += [_line(module.name, depth + 1, summary(module)) for module in modules]
    return lines


def page() -> str:
    """The listing as a page of Markdown."""
    lines = [
        "# Folders",
        "",
        "Made from the code by `make graph`: every package, and what its docstring says it is. How they work together",
        "is told in [the architecture](../ARCHITECTURE.md).",
        "",
        "```text",
        *listing(),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, depth: int, text: str) -> str:
    return f"{'  ' * depth + name:<{_COLUMN}} {text}"


if __name__ == "__main__":
    print("\n".join(listing()))
