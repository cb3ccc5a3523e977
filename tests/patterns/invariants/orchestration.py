"""Every trip ends, booked as a whole or not at all; what is free and what is booked is what there was."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from examples.patterns.orchestration import app

from millstream import Consumed, Produced, Serdes, StreamsBuilder

from ..harness.world import Pattern, Seen, Sent, by_key

HASTY_MS, PATIENT_MS = 1_000, 600_000


def add_partner(builder: StreamsBuilder) -> None:
    """Somebody else's service: never answers to half of the wishes, and always when it is to undo something."""
    (
        builder.stream(app.PARTNER_COMMANDS, Consumed(Serdes.string, Serdes.json(app.Command)))
        .filter(lambda key, command: command.action == "undo" or zlib.crc32(command.trip.encode()) % 2 == 0)
        .map(lambda key, command: (command.trip, app.Reply(command.step, command.action, True, 0)))
        .to(app.REPLIES, Produced(Serdes.string, Serdes.json(app.Reply)))
    )


class Orchestration(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        kinds = ("flight", "hotel", "card")
        records = []
        for number in range(count):
            if chance.random() < (0.25 if number > 10 else 0.8):
                resource = f"{chance.choice(kinds)}/{chance.randrange(3)}"
                records.append(Sent(app.CAPACITIES, resource, chance.randrange(1, 6)))
                continue
            resources = [f"{kind}/{chance.randrange(3)}" for kind in kinds]
            if number < count // 3 and chance.random() < 0.5:  # early, so that nobody waits for timeouts at the end
                resources[chance.randrange(3)] = f"partner/{chance.randrange(3)}"
            steps = [
                {
                    "resource": resource,
                    "amount": chance.randrange(1, 4),
                    "timeout_ms": HASTY_MS if "partner" in resource or chance.random() < 0.1 else PATIENT_MS,
                }
                for resource in resources
            ]
            times = 2 if chance.random() < 0.2 else 1  # the request came twice
            records += [Sent(app.TRIPS, f"t{number}", {"steps": steps})] * times
        return records

    def is_finished(self, seen: Seen) -> bool:
        return not seen.stores["trip-deadlines"]  # nobody waits for anything

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        trips: dict[str, Any] = {key: values[0]["steps"] for key, values in by_key(sent, app.TRIPS).items()}
        outcomes = seen.by_key(app.OUTCOMES)
        assert {key: len(values) for key, values in outcomes.items()} == dict.fromkeys(trips, 1)
        assert all(row.value["free"] >= 0 for row in seen.topics[app.REPLIES])
        booked = Counter[str]()
        for trip, (outcome,) in outcomes.items():
            for step in trips[trip] if outcome == "booked" else ():
                booked[step["resource"]] += step["amount"]
        capacities = {resource: sum(values) for resource, values in by_key(sent, app.CAPACITIES).items()}
        free = seen.stores["trip-free"]
        assert {resource: free[resource] + booked[resource] for resource in capacities} == capacities
        assert all(resource in capacities for resource, amount in free.items() if amount)


PATTERN = Orchestration(
    "orchestration",
    (app.add_manager, app.add_resources, add_partner),
    topics=(app.REPLIES, app.OUTCOMES),
    stores=("trip-free", "trip-deadlines"),
)
