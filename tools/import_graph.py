"""Which part imports which, from the code: a picture and a table per package that has parts.

`python tools/import_graph.py FOLDER` writes the page and the pictures there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

import grimp

from millstream.topology.pictures.layout import layered

ROOT = "millstream"

_CHARACTER = 7.3
_BOX_HEIGHT = 30.0
_MARGIN = 12.0


@dataclass(frozen=True)
class Parts:
    """The parts of a package, and for each the others it imports."""

    package: str
    imports: dict[str, frozenset[str]]

    def order(self) -> list[str]:
        """The parts, each before all that it imports.

        Raises:
            ValueError: there is none, because imports go in a circle.
        """
        try:
            return list(reversed(list(TopologicalSorter(self.imports).static_order())))
        except CycleError as error:
            raise ValueError(f"imports of {self.package} go in a circle: {' -> '.join(error.args[1])}") from None

    def essential(self) -> dict[str, frozenset[str]]:
        """The imports without those that follow from others: what a picture needs."""
        below: dict[str, frozenset[str]] = {}
        for part in reversed(self.order()):
            below[part] = self.imports[part].union(*(below[imported] for imported in self.imports[part]))
        return {
            part: frozenset(
                target for target in imported if not any(target in below[other] for other in imported - {target})
            )
            for part, imported in self.imports.items()
        }


def read() -> list[Parts]:
    """The parts of the whole, then those of every part that has packages of its own."""
    graph = grimp.build_graph(ROOT, cache_dir=None)
    found = [_parts(graph, ROOT)]
    for part in sorted(found[0].imports):
        package = f"{ROOT}.{part}"
        if any(graph.find_children(child) for child in graph.find_children(package)):
            found.append(_parts(graph, package))
    return found


def _parts(graph: grimp.ImportGraph, package: str) -> Parts:
    children = sorted(graph.find_children(package))
    if package == ROOT:
        # It hands out the public names when they are asked for, and is no part of what they are made of.
        children.remove(f"{ROOT}._public")
    imports = {
        child.rpartition(".")[2]: frozenset(
            other.rpartition(".")[2]
            for other in children
            if other != child and graph.direct_import_exists(importer=child, imported=other, as_packages=True)
        )
        for child in children
    }
    return Parts(package, imports)


def picture(parts: Parts) -> str:
    """The parts as an SVG drawing; every arrow points downwards, from a part to one that it imports."""
    order = parts.order()
    sizes = {part: (len(part) * _CHARACTER + 24, _BOX_HEIGHT) for part in order}
    edges = [(part, target) for part in order for target in sorted(parts.essential()[part])]
    layout = layered(sizes, edges, bottom=())
    width, height = layout.width + 2 * _MARGIN, layout.height + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-_MARGIN} {-_MARGIN} {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" role="img" aria-label="imports of {parts.package}" '
        'font-family="monospace" font-size="12" style="max-width: 100%; height: auto">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#607d8b"/></marker></defs>',
    ]
    for edge in edges:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in layout.routes[edge])
        lines.append(f'<polyline points="{points}" fill="none" stroke="#607d8b" marker-end="url(#tip)"/>')
    for part, (centre, top) in layout.places.items():
        box_width, box_height = sizes[part]
        lines.append(
            f'<rect x="{centre - box_width / 2:.1f}" y="{top:.1f}" width="{box_width:.1f}" height="{box_height}" '
            'rx="5" fill="#eceff1" stroke="#455a64"/>'
            f'<text x="{centre:.1f}" y="{top + 19:.1f}" text-anchor="middle" fill="#212121">{escape(part)}</text>'
        )
    return "\n".join([*lines, "</svg>"])


def page(found: list[Parts]) -> str:
    """All of it as a page of Markdown, the drawings inside."""
    lines = [
        "# Imports",
        "",
        "Made from the code by `make graph`. Every arrow points downwards, from a part to one that it imports; arrows",
        "that follow from others are left out of the drawings, the tables have all. That imports go one way is",
        "checked by `make lint` (the rules are in `pyproject.toml`) and by `tests/docs`.",
    ]
    for parts in found:
        lines += ["", f"## {parts.package}", "", picture(parts), "", "| part | imports |", "|---|---|"]
        for part in parts.order():
            imported = ", ".join(f"`{other}`" for other in parts.order() if other in parts.imports[part])
            lines.append(f"| `{part}` | {imported} |")
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Writes the page, and each drawing as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    found = read()
    (folder / "imports.md").write_text(page(found), encoding="utf-8")
    for parts in found:
        (folder / f"{parts.package}.svg").write_text(picture(parts) + "\n", encoding="utf-8")
        print(folder / f"{parts.package}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
