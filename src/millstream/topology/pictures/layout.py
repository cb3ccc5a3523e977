"""A small layered layout: where boxes go so that edges point downwards and cross little.

The steps are the usual ones (Sugiyama): longest-path layers, bends for edges that pass a layer, order in each layer by
the mean of the neighbours, then positions as near to the neighbours as the order allows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Edge = tuple[str, str]
Point = tuple[float, float]

LAYER_GAP = 46.0
BOX_GAP = 26.0
_BEND_WIDTH = 14.0
_ORDER_SWEEPS = 12
_PLACE_SWEEPS = 60
# How much an edge pulls its ends together; bends more than boxes, so that long edges are straight.
_LIGHT = 1.0
_NORMAL = 6.0
_BEND = 6.0


@dataclass(slots=True)
class Layout:
    """Boxes by their centre and top, edges by the points they pass. The top left corner of all is (0, 0)."""

    places: dict[str, Point] = field(default_factory=dict)
    routes: dict[Edge, list[Point]] = field(default_factory=dict)
    width: float = 0.0
    height: float = 0.0


def spread(
    wanted: Sequence[float], widths: Sequence[float], gap: float, weights: Sequence[float] | None = None
) -> list[float]:
    """Centres of boxes in a row, in the given order, without overlap and as near as can be to the wanted ones.

    >>> spread([0.0, 0.0], [10.0, 10.0], 2.0)
    [-6.0, 6.0]
    """
    # Without the room that the boxes before it take, each centre must only not be less than the one before it:
    # least squares under that condition is pooling of adjacent violators.
    room = [0.0]
    for left, right in pairwise(widths):
        room.append(room[-1] + (left + right) / 2 + gap)
    pools: list[tuple[float, float, int]] = []  # weighted sum, weight, members
    for centre, used, weight in zip(wanted, room, weights or [1.0] * len(wanted), strict=False):
        total, members = (centre - used) * weight, 1
        while pools and pools[-1][0] / pools[-1][1] > total / weight:
            other_total, other_weight, other_members = pools.pop()
            total, weight, members = total + other_total, weight + other_weight, members + other_members
        pools.append((total, weight, members))
    free = [total / weight for total, weight, members in pools for _ in range(members)]
    return [position + used for position, used in zip(free, room, strict=False)]


def layered(
    sizes: Mapping[str, Point], edges: Sequence[Edge], bottom: Collection[str], light: Collection[Edge] = ()
) -> Layout:
    """Lay out an acyclic graph.

    Args:
        sizes: width and height of every box, in an order that is kept where nothing speaks against it.
        edges: from box to box, all of which will point downwards.
        bottom: boxes that belong into the last layer.
        light: edges that matter less than straight lines for the others.
    """
    if not sizes:
        return Layout()
    layer_of = _layers(sizes, edges, bottom)
    layers: list[list[str]] = [[] for _ in range(max(layer_of.values()) + 1)]
    for name in sizes:
        layers[layer_of[name]].append(name)
    widths = {name: size[0] for name, size in sizes.items()}
    above: dict[str, list[str]] = {name: [] for name in sizes}
    below: dict[str, list[str]] = {name: [] for name in sizes}
    chains: dict[Edge, list[str]] = {}
    pull: dict[Edge, float] = {}
    for start, end in edges:
        chain = [start]
        for passed in range(layer_of[start] + 1, layer_of[end]):
            bend = f"{start}\n{end}\n{passed}"
            layers[passed].append(bend)
            widths[bend] = _BEND_WIDTH
            above[bend], below[bend] = [], []
            chain.append(bend)
        chain.append(end)
        for upper, lower in pairwise(chain):
            below[upper].append(lower)
            above[lower].append(upper)
            strength = _LIGHT if (start, end) in light else _NORMAL
            pull[upper, lower] = strength * _BEND if upper not in sizes and lower not in sizes else strength
        chains[start, end] = chain

    layers = _ordered(layers, above, below)
    centres = _centres(layers, widths, above, below, pull)
    heights = [max((sizes[name][1] for name in layer if name in sizes), default=0.0) for layer in layers]
    tops = [sum(heights[:index]) + LAYER_GAP * index for index in range(len(layers))]

    left = min(centres[name] - widths[name] / 2 for name in centres)
    layout = Layout(height=tops[-1] + heights[-1])
    layout.width = max(centres[name] + widths[name] / 2 for name in centres) - left
    for index, layer in enumerate(layers):
        for name in layer:
            if name in sizes:
                layout.places[name] = (centres[name] - left, tops[index] + (heights[index] - sizes[name][1]) / 2)
    for edge, chain in chains.items():
        start, end = edge
        points = [(layout.places[start][0], layout.places[start][1] + sizes[start][1])]
        for offset, bend in enumerate(chain[1:-1], start=layer_of[start] + 1):
            x = centres[bend] - left
            points += [(x, tops[offset]), (x, tops[offset] + heights[offset])]
        points.append(layout.places[end])
        layout.routes[edge] = points
    return layout


def _layers(names: Collection[str], edges: Sequence[Edge], bottom: Collection[str]) -> dict[str, int]:
    """The longest way from a box without incoming edges."""
    incoming = dict.fromkeys(names, 0)
    outgoing: dict[str, list[str]] = {name: [] for name in names}
    for start, end in edges:
        incoming[end] += 1
        outgoing[start].append(end)
    layer = dict.fromkeys(names, 0)
    ready = [name for name in names if not incoming[name]]
    for name in ready:
        for end in outgoing[name]:
            layer[end] = max(layer[end], layer[name] + 1)
            incoming[end] -= 1
            if not incoming[end]:
                ready.append(end)
    last = max(layer.values())
    for name in bottom:
        layer[name] = last
    return layer


def _ordered(
    layers: list[list[str]], above: Mapping[str, list[str]], below: Mapping[str, list[str]]
) -> list[list[str]]:
    """Sort every layer by the mean position of its neighbours, down and up again; keep the best."""
    best, fewest = layers, _crossings(layers, below)
    current = [list(layer) for layer in layers]
    for sweep in range(_ORDER_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        indexes = range(1, len(current)) if downwards else range(len(current) - 2, -1, -1)
        for index in indexes:
            fixed = current[index - 1 if downwards else index + 1]
            position = {name: float(place) for place, name in enumerate(fixed)}
            own = {name: float(place) for place, name in enumerate(current[index])}
            mean = {
                name: sum(position[other] for other in neighbours[name]) / len(neighbours[name])
                if neighbours[name]
                else own[name]
                for name in current[index]
            }
            current[index].sort(key=mean.__getitem__)
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _crossings(layers: Sequence[Sequence[str]], below: Mapping[str, list[str]]) -> int:
    count = 0
    for upper, lower in pairwise(layers):
        position = {name: place for place, name in enumerate(lower)}
        ends: list[int] = []
        for name in upper:
            targets = sorted(position[end] for end in below[name])
            count += sum(1 for target in targets for end in ends if end > target)
            ends += targets
    return count


def _centres(
    layers: Sequence[Sequence[str]],
    widths: Mapping[str, float],
    above: Mapping[str, list[str]],
    below: Mapping[str, list[str]],
    pull: Mapping[Edge, float],
) -> dict[str, float]:
    """Pull every box towards its neighbours, layer by layer, down and up again."""
    centres: dict[str, float] = {}
    for layer in layers:
        centres |= zip(layer, spread([0.0] * len(layer), [widths[name] for name in layer], BOX_GAP), strict=True)
    for sweep in range(_PLACE_SWEEPS):
        downwards = sweep % 2 == 0
        # The last sweeps look both ways, so that parents stand over the middle of their children.
        both = sweep >= _PLACE_SWEEPS // 2
        for layer in layers if downwards else layers[::-1]:
            wanted: list[float] = []
            weights: list[float] = []
            for name in layer:
                near = [(other, pull[other, name]) for other in above[name]] if downwards or both else []
                near += [(other, pull[name, other]) for other in below[name]] if not downwards or both else []
                weight = sum(strength for _, strength in near)
                wanted.append(
                    sum(centres[other] * strength for other, strength in near) / weight if near else centres[name]
                )
                weights.append(weight or _LIGHT / 2)
            centres |= zip(layer, spread(wanted, [widths[name] for name in layer], BOX_GAP, weights), strict=True)
    return centres
