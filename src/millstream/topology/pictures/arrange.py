"""Where sub-topologies and topics go in a drawing.

Sub-topologies are laid out each by itself and put in rows: one that reads what another writes stands below it. Topics
stand in rows between. An edge that would have to pass a row of sub-topologies, or to go up, runs around them on the
right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from millstream.topology.pictures.layout import Layout, Point, layered, spread
from millstream.topology.pictures.picture import Part

FRAME_PADDING = 22.0
FRAME_TITLE = 30.0
ROW_GAP = 54.0
_FRAME_GAP = 40.0
_TOPIC_GAP = 24.0
_LANE = 16.0


@dataclass(slots=True)
class Frame:
    """A sub-topology's place: the corner of its frame and the layout inside."""

    part: Part
    layout: Layout
    title_width: float
    row: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Of the frame."""
        return max(self.layout.width, self.title_width) + 2 * FRAME_PADDING

    @property
    def height(self) -> float:
        """Of the frame, title included."""
        return self.layout.height + FRAME_TITLE + FRAME_PADDING

    def inside(self, point: Point) -> Point:
        """From a point of the layout to one of the drawing."""
        return self.x + (self.width - self.layout.width) / 2 + point[0], self.y + FRAME_TITLE + point[1]


@dataclass(slots=True)
class Arrangement:
    """A whole drawing. Topics by centre and top; routes of topic edges as points, `around` with corners."""

    frames: list[Frame]
    topics: dict[str, Point] = field(default_factory=dict)
    direct: list[list[Point]] = field(default_factory=list)
    around: list[list[Point]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def node_key(name: str) -> str:
    """A node's name in layouts; a store may have the same name."""
    return f"node {name}"


def store_key(name: str) -> str:
    """A store's name in layouts."""
    return f"store {name}"


def arrange(
    parts: Sequence[Part],
    sizes: Mapping[str, Point],
    topic_sizes: Mapping[str, Point],
    title_widths: Sequence[float],
) -> Arrangement:
    """Find places for everything.

    Args:
        parts: what is drawn.
        sizes: width and height of nodes and stores, by `node_key` and `store_key`.
        topic_sizes: width and height of topics.
        title_widths: the widths of the parts' titles.
    """
    frames = [Frame(part, _inner_layout(part, sizes), title) for part, title in zip(parts, title_widths, strict=True)]
    arrangement = Arrangement(frames)
    if not frames:
        return arrangement
    links = _Links(frames)
    for frame in frames:
        frame.row = links.row_of(frame.part.id)
    _place_frames(frames, links)

    topic_rows: dict[int, list[str]] = {}
    for topic in topic_sizes:
        topic_rows.setdefault(links.topic_row(topic), []).append(topic)
    centres = _topic_centres(topic_rows, frames, links, topic_sizes, sizes)

    y = 0.0
    for row in range(max(frame.row for frame in frames) + 2):
        topics = topic_rows.get(row, [])
        height = max((topic_sizes[topic][1] for topic in topics), default=0.0)
        for topic in topics:
            arrangement.topics[topic] = (centres[topic], y)
        y += height + ROW_GAP if topics else 0.0
        members = [frame for frame in frames if frame.row == row]
        for frame in members:
            frame.y = y
        y += max((frame.height for frame in members), default=0.0) + (ROW_GAP if members else 0.0)
    arrangement.height = y - ROW_GAP

    _shift_to_origin(arrangement, topic_sizes)
    _route_topics(arrangement, links, sizes, topic_sizes)
    return arrangement


def _inner_layout(part: Part, sizes: Mapping[str, Point]) -> Layout:
    names = [node_key(node.name) for node in part.nodes] + [store_key(store) for store in part.stores]
    edges = [(node_key(start), node_key(end)) for start, end in part.edges()]
    uses = [(node_key(processor), store_key(store)) for processor, store in part.store_edges()]
    sinks = [node_key(sink) for sink, _ in part.writes()]
    return layered({name: sizes[name] for name in names}, edges + uses, sinks, light=set(uses))


class _Links:
    """Which parts read and write which topics, and the rows that follow from it."""

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.readers: dict[str, list[tuple[Frame, str]]] = {}
        self.writers: dict[str, list[tuple[Frame, str]]] = {}
        for frame in frames:
            for topic, source in frame.part.reads():
                self.readers.setdefault(topic, []).append((frame, source))
            for sink, topic in frame.part.writes():
                self.writers.setdefault(topic, []).append((frame, sink))
        self._upstream: dict[int, set[int]] = {frame.part.id: set() for frame in frames}
        for topic, writers in self.writers.items():
            for writer, _ in writers:
                for reader, _ in self.readers.get(topic, []):
                    # Foreign-key joins go back and forth between two parts; only the first way decides the rows.
                    if not self._reaches(reader.part.id, writer.part.id):
                        self._upstream[reader.part.id].add(writer.part.id)

    def _reaches(self, start: int, end: int) -> bool:
        return start == end or any(self._reaches(start, above) for above in self._upstream[end])

    def upstream(self, part: int) -> set[int]:
        """The parts whose topics this one reads."""
        return self._upstream[part]

    def row_of(self, part: int) -> int:
        """The longest way from a part that reads no other's topics."""
        return 1 + max((self.row_of(above) for above in self._upstream[part]), default=-1)

    def topic_row(self, topic: str) -> int:
        """Row r of topics is above row r of parts."""
        if topic in self.writers:
            return 1 + max(frame.row for frame, _ in self.writers[topic])
        return min(frame.row for frame, _ in self.readers[topic])


def _place_frames(frames: Sequence[Frame], links: _Links) -> None:
    centres: dict[int, float] = {}
    for row in range(max(frame.row for frame in frames) + 1):
        members = [frame for frame in frames if frame.row == row]
        wanted = {
            frame.part.id: sum(centres[above] for above in upstream) / len(upstream)
            if (upstream := links.upstream(frame.part.id))
            else 0.0
            for frame in members
        }
        members.sort(key=lambda frame: (wanted[frame.part.id], frame.part.id))
        placed = spread([wanted[frame.part.id] for frame in members], [frame.width for frame in members], _FRAME_GAP)
        for frame, centre in zip(members, placed, strict=True):
            centres[frame.part.id] = centre
            frame.x = centre - frame.width / 2


def _topic_centres(
    rows: Mapping[int, list[str]],
    frames: Sequence[Frame],
    links: _Links,
    topic_sizes: Mapping[str, Point],
    sizes: Mapping[str, Point],
) -> dict[str, float]:
    def attached(row: int, topic: str) -> float:
        """The mean centre of the nodes next to the topic, or of all its nodes when none is in a row next to it."""
        ends = [(frame, node, frame.row == row) for frame, node in links.readers.get(topic, [])]
        ends += [(frame, node, frame.row == row - 1) for frame, node in links.writers.get(topic, [])]
        near = [end for end in ends if end[2]] or ends
        return sum(frame.inside(frame.layout.places[node_key(node)])[0] for frame, node, _ in near) / len(near)

    centres: dict[str, float] = {}
    for row, topics in rows.items():
        wanted = {topic: attached(row, topic) for topic in topics}
        topics.sort(key=wanted.__getitem__)
        placed = spread([wanted[topic] for topic in topics], [topic_sizes[topic][0] for topic in topics], _TOPIC_GAP)
        centres |= zip(topics, placed, strict=True)
    return centres


def _shift_to_origin(arrangement: Arrangement, topic_sizes: Mapping[str, Point]) -> None:
    lefts = [frame.x for frame in arrangement.frames]
    rights = [frame.x + frame.width for frame in arrangement.frames]
    for topic, (centre, _) in arrangement.topics.items():
        lefts.append(centre - topic_sizes[topic][0] / 2)
        rights.append(centre + topic_sizes[topic][0] / 2)
    left = min(lefts)
    for frame in arrangement.frames:
        frame.x -= left
    arrangement.topics = {topic: (centre - left, top) for topic, (centre, top) in arrangement.topics.items()}
    arrangement.width = max(rights) - left


def _route_topics(
    arrangement: Arrangement, links: _Links, sizes: Mapping[str, Point], topic_sizes: Mapping[str, Point]
) -> None:
    def add(start: Point, end: Point, *, adjacent: bool) -> None:
        if adjacent:
            arrangement.direct.append([start, end])
            return
        lane = len(arrangement.around) + 1
        x = right + _LANE * lane
        below, above = start[1] + 8 + 3 * lane, end[1] - 12 - 3 * lane
        arrangement.around.append([start, (start[0], below), (x, below), (x, above), (end[0], above), end])

    right = arrangement.width
    for topic, (centre, top) in arrangement.topics.items():
        row = links.topic_row(topic)
        for frame, sink in links.writers.get(topic, []):
            x, y = frame.inside(frame.layout.places[node_key(sink)])
            start = (x, y + sizes[node_key(sink)][1])
            add(start, (centre, top), adjacent=frame.row == row - 1)
        for frame, source in links.readers.get(topic, []):
            end = frame.inside(frame.layout.places[node_key(source)])
            add((centre, top + topic_sizes[topic][1]), end, adjacent=frame.row == row)
    if arrangement.around:
        arrangement.width = right + _LANE * (len(arrangement.around) + 1)
        arrangement.height = max(arrangement.height, *(y for points in arrangement.around for _, y in points))
