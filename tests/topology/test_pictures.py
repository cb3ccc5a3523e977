"""Mermaid, SVG and HTML, and the layout behind the drawing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from millstream.processors.operator import Operator
from millstream.topology import Topology
from millstream.topology.pictures.layout import layered, spread

MakeBuilder = Callable[..., Any]
SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - our own


def test_mermaid(rekeyed: Topology) -> None:
    assert rekeyed.to_mermaid().split("    classDef")[0] == (
        """\
flowchart TD
    t0(["in"]):::topic
    t1(["r"]):::topic
    subgraph p0["Sub-topology 0"]
        n0["source"]:::source
        n1["select-key"]:::processor
        n2["r-sink"]:::sink
    end
    subgraph p1["Sub-topology 1"]
        n3["r-source"]:::source
        n4["count"]:::processor
        s0[("counts")]:::store
    end
    t0 --> n0
    n0 --> n1
    n1 --> n2
    n2 --> t1
    t1 --> n3
    n3 --> n4
    n4 -.- s0
"""
    )


def test_mermaid_escapes_what_is_not_a_name() -> None:
    mermaid = Topology().add_source("s", pattern='a"<b>#').to_mermaid()
    assert 't0(["/a#quot;#lt;b#gt;#35;/"]):::topic' in mermaid


def test_svg_shows_everything_once(rekeyed: Topology, builder: MakeBuilder) -> None:
    rekeyed.add_global_operator(builder("g", logging=False), "gs", "gt", "gp", Operator)
    shown = texts(rekeyed.to_svg())
    for name in ("source", "select-key", "r-sink", "r-source", "count", "counts", "in", "r", "gs", "gp", "gt", "g"):
        assert shown.count(name) == 1, name
    assert "Sub-topology 0" in shown
    assert "Sub-topology 2: global store" in shown


def test_svg_is_written_and_escaped(tmp_path: Path) -> None:
    topology = Topology().add_source("s", pattern="<&>").add_sink("d", lambda key, value, context: "x", "s")
    svg = topology.to_svg(tmp_path / "topology.svg")
    assert (tmp_path / "topology.svg").read_text() == svg
    shown = texts(svg)
    assert "/<&>/" in shown
    assert any(text.startswith("chosen by <lambda> at test_pictures.py:") for text in shown)


def test_svg_of_nothing() -> None:
    assert texts(Topology().to_svg()) == []


def test_svg_of_a_topic_that_is_read_by_its_own_writer() -> None:
    topology = Topology().add_source("s", "t").add_operator("p", Operator, "s").add_sink("k", "t", "p")
    assert texts(topology.to_svg()).count("t") == 1


def test_html_has_the_drawing_and_the_text(orders: Topology, tmp_path: Path) -> None:
    page = orders.to_html(str(tmp_path / "topology.html"), title="Orders & more")
    assert (tmp_path / "topology.html").read_text() == page
    assert "<title>Orders &amp; more</title>" in page
    assert orders.to_svg() in page
    assert "Processor: count (stores: [counts])\n      --&gt; sink" in page


def test_spread_keeps_the_order_and_the_gap() -> None:
    assert spread([], [], 1) == []
    assert spread([10.0, 40.0], [4.0, 4.0], 1.0) == [10.0, 40.0]
    assert spread([40.0, 10.0], [4.0, 4.0], 1.0) == [22.5, 27.5]
    assert spread([0.0, 0.0], [4.0, 4.0], 1.0, [1.0, 4.0]) == [-4.0, 1.0]


def test_layered_has_no_overlaps_and_points_down() -> None:
    sizes = {name: (60.0, 20.0) for name in "abcdefg"}
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d"), ("e", "c"), ("d", "f"), ("a", "g")]
    layout = layered(sizes, edges, bottom=["g"])
    for start, end in edges:
        assert layout.places[start][1] < layout.places[end][1]
        assert layout.routes[start, end][0] == (layout.places[start][0], layout.places[start][1] + 20.0)
        assert layout.routes[start, end][-1] == layout.places[end]
    assert layout.places["g"][1] == layout.places["f"][1]
    for one in sizes:
        for other in sizes:
            if one < other and layout.places[one][1] == layout.places[other][1]:
                assert abs(layout.places[one][0] - layout.places[other][0]) >= 60.0
    assert min(x for x, _ in layout.places.values()) >= 30.0
    assert max(x for x, _ in layout.places.values()) <= layout.width - 30.0


def test_two_layers_are_untangled() -> None:
    sizes = {name: (60.0, 20.0) for name in ("a", "b", "x", "y")}
    places = layered(sizes, [("a", "y"), ("b", "x")], bottom=[]).places
    assert (places["a"][0] < places["b"][0]) == (places["y"][0] < places["x"][0])
