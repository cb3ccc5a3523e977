"""No order is paid twice or shipped unpaid, stock never goes below zero, and no money is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from examples.patterns.event_collaboration import app

from ..harness.world import Pattern, Seen, Sent, by_key

#: Which events an order can have, in the order of their topics.
STORIES = {
    "refused": (["refused"], [], 0),
    "shipped": (["taken"], ["reserved"], 1),
    "money returned": (["taken", "returned"], ["sold out"], 0),
}


class EventCollaboration(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records: list[Sent] = []
        for number in range(count):
            kind = chance.random()
            if kind < 0.15:
                records.append(Sent(app.DEPOSITS, f"c{chance.randrange(4)}", chance.randrange(1, 500)))
            elif kind < 0.3:
                records.append(Sent(app.DELIVERIES, f"p{chance.randrange(3)}", chance.randrange(1, 5)))
            else:
                order = {
                    "customer": f"c{chance.randrange(4)}",
                    "product": f"p{chance.randrange(3)}",
                    "pieces": chance.randrange(1, 4),
                    "cents": chance.randrange(1, 200),
                }
                times = 2 if chance.random() < 0.2 else 1  # somebody pressed the button twice
                records += [Sent(app.ORDERS, f"o{number}", order)] * times
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        orders = {key: values[0] for key, values in by_key(sent, app.ORDERS).items()}
        payments, reservations = seen.by_key(app.PAYMENTS), seen.by_key(app.RESERVATIONS)
        shipments, statuses = seen.by_key(app.SHIPMENTS), seen.by_key(app.STATUS)
        assert payments.keys() | reservations.keys() | shipments.keys() | statuses.keys() <= orders.keys()
        spent, gone = Counter[str](), Counter[str]()
        for key, order in orders.items():
            ranks = [app.RANKS[status] for status in statuses[key]]
            assert ranks == sorted(ranks), f"{key} went back: {statuses[key]}"
            story = (
                [payment["kind"] for payment in payments.get(key, [])],
                [reservation["kind"] for reservation in reservations.get(key, [])],
                len(shipments.get(key, [])),
            )
            assert STORIES[statuses[key][-1]] == story, f"{key} is {statuses[key][-1]} after {story}"
            if story[2]:
                assert shipments[key] == [order]
                spent[order["customer"]] += order["cents"]
                gone[order["product"]] += order["pieces"]
        assert all(payment["balance"] >= 0 for payment in (row.value for row in seen.topics[app.PAYMENTS]))
        assert all(row.value["left"] >= 0 for row in seen.topics[app.RESERVATIONS])
        for customer, deposits in by_key(sent, app.DEPOSITS).items():
            assert seen.stores["shop-balances"][customer] + spent[customer] == sum(deposits)
        for product, deliveries in by_key(sent, app.DELIVERIES).items():
            assert seen.stores["shop-shelves"][product] + gone[product] == sum(deliveries)


PATTERN = EventCollaboration(
    "event_collaboration",
    app.SERVICES,
    topics=(app.PAYMENTS, app.RESERVATIONS, app.SHIPMENTS, app.STATUS),
    stores=("shop-balances", "shop-shelves"),
)
