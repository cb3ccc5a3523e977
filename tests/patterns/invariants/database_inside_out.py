"""Every view has what a plain computation over the log gives."""

from __future__ import annotations

import random
from collections.abc import Sequence

from examples.patterns.database_inside_out import app

from ..harness.world import Pattern, Seen, Sent, by_key

WORDS = ("green", "black", "tea", "Tea", "pot", "cup")


class DatabaseInsideOut(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for _ in range(count):
            product = {
                "name": " ".join(chance.choices(WORDS, k=chance.randrange(1, 4))),
                "category": f"g{chance.randrange(3)}",
                "cents": chance.randrange(1, 100),
            }
            records.append(Sent(app.PRODUCTS, f"p{chance.randrange(8)}", None if chance.random() < 0.2 else product))
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        latest = {key: values[-1] for key, values in by_key(sent, app.PRODUCTS).items() if values[-1] is not None}
        categories: dict[str, dict[str, int]] = {}
        words: dict[str, list[str]] = {}
        for key, product in sorted(latest.items()):
            sums = categories.setdefault(product["category"], {"products": 0, "cents": 0})
            sums["products"] += 1
            sums["cents"] += product["cents"]
            for word in set(product["name"].lower().split()):
                words.setdefault(word, []).append(key)
        assert seen.stores[app.BY_ID] == latest
        assert seen.stores[app.BY_WORD] == words
        there = {key: sums for key, sums in seen.stores[app.BY_CATEGORY].items() if sums != {"products": 0, "cents": 0}}
        assert there == categories


PATTERN = DatabaseInsideOut(
    "database_inside_out", (app.add_to,), topics=(), stores=(app.BY_ID, app.BY_CATEGORY, app.BY_WORD)
)
