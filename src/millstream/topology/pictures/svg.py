"""A topology as an SVG drawing."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from millstream.topology.description import NodeDescription, TopologyDescription
from millstream.topology.pictures.arrange import Arrangement, Frame, arrange, node_key, store_key
from millstream.topology.pictures.layout import Point
from millstream.topology.pictures.picture import kind, parts

_MARGIN = 28.0
_NODE_HEIGHT = 46.0
_TOPIC_HEIGHT = 34.0
_STORE_HEIGHT = 50.0
_LID = 6.0  # half the height of a cylinder's lid
_CORNER = 8.0  # radius of the bends of edges that run around

_STYLE = """
svg { background: #ffffff; }
text { font-family: "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; font-size: 12px; fill: #1f2933; }
text.role { font-size: 9.5px; letter-spacing: .06em; fill: #52606d; }
text.title { font-size: 13px; font-weight: 600; fill: #334155; }
text.title { paint-order: stroke; stroke: #f8fafc; stroke-width: 5px; stroke-linejoin: round; }
.frame { fill: #f8fafc; stroke: #cbd5e1; stroke-width: 1.2; }
.source { fill: #e7f5ea; stroke: #3f8f57; }
.processor { fill: #e8f0fd; stroke: #4674c4; }
.sink { fill: #fff1df; stroke: #c97f2e; }
.store { fill: #f4ecfb; stroke: #8659b0; }
.topic { fill: #eef0f3; stroke: #5b6675; }
.source, .processor, .sink, .store, .topic { stroke-width: 1.3; }
.edge { fill: none; stroke: #64748b; stroke-width: 1.4; }
.uses { fill: none; stroke: #8659b0; stroke-width: 1.3; stroke-dasharray: 4 3; }
"""


def draw_svg(description: TopologyDescription, *, styled: bool = True) -> str:
    """Draw sub-topologies as frames with boxes for nodes and cylinders for stores, and topics between them.

    Args:
        description: what to draw.
        styled: whether the drawing says how it looks; else the page that it is put into does.
    """
    drawn = parts(description)
    sizes: dict[str, Point] = {}
    topics: dict[str, Point] = {}
    for part in drawn:
        sizes |= {node_key(node.name): (_text_width(node.name) + 28, _NODE_HEIGHT) for node in part.nodes}
        sizes |= {store_key(store): (_text_width(store) + 28, _STORE_HEIGHT) for store in part.stores}
        for topic in [topic for topic, _ in part.reads()] + [topic for _, topic in part.writes()]:
            topics[topic] = (_text_width(topic) + 40, _TOPIC_HEIGHT)
    arrangement = arrange(drawn, sizes, topics, [_text_width(part.title) for part in drawn])
    width, height = arrangement.width + 2 * _MARGIN, arrangement.height + 2 * _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">',
        "<title>Topology</title>",
        *([f"<style>{_STYLE}</style>"] if styled else []),
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 1 L10 5 L0 9 z" fill="#64748b"/></marker></defs>',
        f'<g transform="translate({_MARGIN:.0f} {_MARGIN:.0f})">',
        *_drawing(arrangement, sizes, topics),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _drawing(arrangement: Arrangement, sizes: dict[str, Point], topics: dict[str, Point]) -> list[str]:
    lines: list[str] = []
    for frame in arrangement.frames:
        lines.append(
            f'<rect class="frame" x="{frame.x:.1f}" y="{frame.y:.1f}" width="{frame.width:.1f}" '
            f'height="{frame.height:.1f}" rx="10"/>'
        )
    # Lines first: boxes then cover their ends.
    for frame in arrangement.frames:
        lines += _inner_edges(frame)
    lines += [f'<path class="edge" d="{_curve(points)}" marker-end="url(#arrow)"/>' for points in arrangement.direct]
    lines += [f'<path class="edge" d="{_corners(points)}" marker-end="url(#arrow)"/>' for points in arrangement.around]
    for frame in arrangement.frames:
        lines.append(_text(frame.part.title, frame.x + 14, frame.y + 20, "title", anchor="start"))
        for node in frame.part.nodes:
            key = node_key(node.name)
            lines.append(_node(node, frame.inside(frame.layout.places[key]), sizes[key]))
        for store in frame.part.stores:
            key = store_key(store)
            lines.append(_store(store, frame.inside(frame.layout.places[key]), sizes[key]))
    lines += [_topic(topic, place, topics[topic]) for topic, place in arrangement.topics.items()]
    return lines


def _inner_edges(frame: Frame) -> list[str]:
    lines = []
    for (_, end), points in frame.layout.routes.items():
        curve = _curve([frame.inside(point) for point in points])
        if end.startswith(store_key("")):
            lines.append(f'<path class="uses" d="{curve}"/>')
        else:
            lines.append(f'<path class="edge" d="{curve}" marker-end="url(#arrow)"/>')
    return lines


def _curve(points: Sequence[Point]) -> str:
    """A line that leaves and enters every point vertically."""
    (x, y), *others = points
    path = [f"M{x:.1f} {y:.1f}"]
    for next_x, next_y in others:
        if abs(next_x - x) < 0.5:
            path.append(f"L{next_x:.1f} {next_y:.1f}")
        else:
            middle = (y + next_y) / 2
            path.append(f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}")
        x, y = next_x, next_y
    return " ".join(path)


def _corners(points: Sequence[Point]) -> str:
    """A line of horizontal and vertical pieces with rounded corners."""
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        entry, leave = _towards(corner, before), _towards(corner, after)
        path.append(f"L{entry[0]:.1f} {entry[1]:.1f}")
        path.append(f"Q{corner[0]:.1f} {corner[1]:.1f} {leave[0]:.1f} {leave[1]:.1f}")
    path.append(f"L{points[-1][0]:.1f} {points[-1][1]:.1f}")
    return " ".join(path)


def _towards(corner: Point, other: Point) -> Point:
    """A point near the corner on the way to another, at most half way."""
    away_x, away_y = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(away_x), abs(away_y), 1.0)
    part = min(_CORNER, length / 2) / length
    return corner[0] + away_x * part, corner[1] + away_y * part


def _node(node: NodeDescription, place: Point, size: Point) -> str:
    (centre, top), (width, height) = place, size
    return "".join(
        [
            f"<g data-node={quoteattr(node.name)}><title>{escape(str(node))}</title>",
            f'<rect class="{kind(node)}" x="{centre - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="6"/>',
            _text(kind(node).upper(), centre, top + 17, "role"),
            _text(node.name, centre, top + 34),
            "</g>",
        ]
    )


def _store(name: str, place: Point, size: Point) -> str:
    (centre, top), (width, height) = place, size
    left, right, bottom = centre - width / 2, centre + width / 2, top + height
    lid, radius = top + _LID, width / 2
    return "".join(
        [
            f"<g data-store={quoteattr(name)}>"
            f'<path class="store" d="M{left:.1f} {lid:.1f} A{radius:.1f} {_LID} 0 0 1 {right:.1f} {lid:.1f} '
            f'V{bottom - _LID:.1f} A{radius:.1f} {_LID} 0 0 1 {left:.1f} {bottom - _LID:.1f} Z"/>',
            f'<path class="store" fill-opacity="0" d="M{left:.1f} {lid:.1f} A{radius:.1f} {_LID} 0 0 0 '
            f'{right:.1f} {lid:.1f}"/>',
            _text("STORE", centre, top + 24, "role"),
            _text(name, centre, top + 39),
            "</g>",
        ]
    )


def _topic(name: str, place: Point, size: Point) -> str:
    (centre, top), (width, height) = place, size
    return (
        f"<g data-topic={quoteattr(name)}>"
        f'<rect class="topic" x="{centre - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{height / 2:.1f}"/>{_text(name, centre, top + height / 2 + 4)}</g>'
    )


def _text(text: str, x: float, y: float, style: str | None = None, *, anchor: str = "middle") -> str:
    attribute = f' class="{style}"' if style else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _text_width(text: str) -> float:
    """A width that no common sans-serif font exceeds by much, at 12 px."""
    return sum(8.6 if char.isupper() else 7.3 if char.isalnum() else 5.2 for char in text)
