"""When everything is processed, the result is the relational join of what both tables have."""

from __future__ import annotations

import random
from collections.abc import Sequence

from examples.patterns.foreign_key_enrichment import app

from ..harness.world import Pattern, Seen, Sent, by_key


class ForeignKeyEnrichment(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for number in range(count):
            gone = chance.random() < 0.2
            if chance.random() < 0.4:
                customer = {"name": f"name {number}", "city": f"city {chance.randrange(3)}"}
                records.append(Sent(app.CUSTOMERS, f"c{chance.randrange(4)}", None if gone else customer))
            else:
                purchase = {"item": f"item {number}", "customer": f"c{chance.randrange(5)}"}
                records.append(Sent(app.PURCHASES, f"p{chance.randrange(8)}", None if gone else purchase))
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        purchases, customers = (
            {key: values[-1] for key, values in by_key(sent, topic).items() if values[-1] is not None}
            for topic in (app.PURCHASES, app.CUSTOMERS)
        )
        nobody = {"name": None, "city": None}
        everything = {
            key: {**purchase, **customers.get(purchase["customer"], nobody)} for key, purchase in purchases.items()
        }
        known = {key: row for key, row in everything.items() if row["name"] is not None}
        assert seen.latest(app.WITH_CUSTOMER) == seen.stores["purchases-with-customer"] == everything
        assert seen.latest(app.KNOWN_ONLY) == seen.stores["purchases-of-known-customers"] == known


PATTERN = ForeignKeyEnrichment(
    "foreign_key_enrichment",
    (app.add_to,),
    topics=(app.WITH_CUSTOMER, app.KNOWN_ONLY),
    stores=("purchases-with-customer", "purchases-of-known-customers"),
)
