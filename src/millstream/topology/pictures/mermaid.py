"""A topology as a Mermaid flowchart."""

from __future__ import annotations

from millstream.topology.description import TopologyDescription
from millstream.topology.pictures.picture import kind, parts

_STYLES = (
    "classDef source fill:#e7f5ea,stroke:#3f8f57,color:#1f2933",
    "classDef processor fill:#e8f0fd,stroke:#4674c4,color:#1f2933",
    "classDef sink fill:#fff1df,stroke:#c97f2e,color:#1f2933",
    "classDef store fill:#f4ecfb,stroke:#8659b0,color:#1f2933",
    "classDef topic fill:#eef0f3,stroke:#5b6675,color:#1f2933",
)


class _Ids:
    """Short ids, since names may hold words and characters that mean something to Mermaid."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.all: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        return self.all.setdefault(name, f"{self._prefix}{len(self.all)}")


def draw_mermaid(description: TopologyDescription) -> str:
    """Draw one subgraph for each sub-topology; topics are stadiums, stores are cylinders."""
    nodes, stores, topics = _Ids("n"), _Ids("s"), _Ids("t")
    frames: list[str] = []
    links: list[str] = []
    for part in parts(description):
        frames.append(f"    subgraph p{part.id}[{_text(part.title)}]")
        frames += [f"        {nodes[node.name]}[{_text(node.name)}]:::{kind(node)}" for node in part.nodes]
        frames += [f"        {stores[store]}[({_text(store)})]:::store" for store in part.stores]
        frames.append("    end")
        links += [f"    {topics[topic]} --> {nodes[source]}" for topic, source in part.reads()]
        links += [f"    {nodes[parent]} --> {nodes[child]}" for parent, child in part.edges()]
        links += [f"    {nodes[processor]} -.- {stores[store]}" for processor, store in part.store_edges()]
        links += [f"    {nodes[sink]} --> {topics[topic]}" for sink, topic in part.writes()]
    shapes = [f"    {identifier}([{_text(topic)}]):::topic" for topic, identifier in topics.all.items()]
    return "\n".join(["flowchart TD", *shapes, *frames, *links, *(f"    {style}" for style in _STYLES)]) + "\n"


def _text(text: str) -> str:
    escaped = text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")
    return f'"{escaped}"'
