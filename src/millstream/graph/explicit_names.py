"""The check that the user has named all stores and internal topics: generated names change with the topology."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.errors import TopologyError
from millstream.graph.names import is_generated
from millstream.topology import Topology


def check_explicit_names(topology: Topology) -> None:
    """Refuse a topology with stores or internal topics of generated names.

    Raises:
        TopologyError: there are some; it lists them.
    """
    found = {
        "state stores": _generated([*topology.stores, *topology.global_stores]),
        "repartition topics": _generated(topology.internal_topics),
    }
    if any(found.values()):
        raise TopologyError(
            "stores and internal topics must be named, and some are not",
            detail="; ".join(f"{what}: {', '.join(names)}" for what, names in found.items() if names),
            hint="name them with Materialized, Grouped, Joined, StreamJoined (name and store_name), TableJoined, "
            "Repartitioned or Suppressed, or set ensure_explicit_internal_resource_naming=False",
        )


def _generated(names: Iterable[str]) -> list[str]:
    return [name for name in names if is_generated(name)]
