"""The names that Kafka Streams gives to repartition topics and their nodes."""

from __future__ import annotations

import re

_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")
#: What names of stores and topics contain if no user gave them; something may follow, such as `-repartition`.
_GENERATED_PART = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM|STATE)-[A-Z-]+-[0-9]{10}(?![0-9])")


def is_generated(name: str) -> bool:
    """Whether the name of a store or a topic was made up, or made from one that was.

    >>> is_generated("KSTREAM-AGGREGATE-STATE-STORE-0000000002-repartition"), is_generated("orders-by-region")
    (True, False)
    """
    return _GENERATED_PART.search(name) is not None


def repartition_topic(base: str) -> str:
    """The topic of a repartition, which ends in `-repartition` once."""
    return base if base.endswith("-repartition") else f"{base}-repartition"


def repartition_names(base: str, topic: str, index: int) -> tuple[str, str, str]:
    """The names of a repartition's sink, filter and source. Three indices are used up whether needed or not."""
    if _GENERATED.fullmatch(base):
        return (f"KSTREAM-SINK-{index:010d}", f"KSTREAM-FILTER-{index + 1:010d}", f"KSTREAM-SOURCE-{index + 2:010d}")
    return (f"{topic}-sink", f"{topic}-filter", f"{topic}-source")
