"""Draws the topology of every pattern in `examples/patterns`, for its README and docs/patterns.md.

`python tools/pattern_pictures.py` writes them; a test says when they are out of date.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PATTERNS = REPOSITORY / "examples" / "patterns"
PICTURES = REPOSITORY / "docs" / "images" / "patterns"


def names() -> list[str]:
    """The patterns there are."""
    return sorted(application.parent.name for application in PATTERNS.glob("*/app.py"))


def picture(name: str) -> str:
    """The drawing of a pattern's topology."""
    drawing: str = importlib.import_module(f"examples.patterns.{name}.app").topology().to_svg()
    return drawing


def main() -> None:
    """Write all of them."""
    sys.path.insert(0, str(REPOSITORY))
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name in names():
        (PICTURES / f"{name}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    main()
