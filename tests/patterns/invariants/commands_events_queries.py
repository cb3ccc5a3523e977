"""Every command has one answer and one effect, no seat is sold twice, and the read side is the fold of the events."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from examples.patterns.commands_events_queries import app

from ..harness.world import Pattern, Seen, Sent, by_key


class CommandsEventsQueries(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for number in range(count):
            kind = chance.choices(("release", "book", "cancel"), (1, 5, 2))[0]
            command = {
                "id": f"m{number}",
                "kind": kind,
                "seats": chance.randrange(0, 6),
                "customer": "" if kind == "release" else f"c{chance.randrange(3)}",
            }
            times = 2 if chance.random() < 0.2 else 1
            records += [Sent(app.COMMANDS, f"k{chance.randrange(3)}", command)] * times
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        commands = {value["id"]: (key, value) for key, values in by_key(sent, app.COMMANDS).items() for value in values}
        events = [row.value for row in seen.topics[app.EVENTS]]
        assert Counter(event["command"] for event in events) == dict.fromkeys(commands, 1)
        left: Counter[str] = Counter()
        booked: Counter[tuple[str, str]] = Counter()
        for event in events:
            concert, command = commands[event["command"]]
            seat = (concert, event["customer"])
            assert (event["concert"], event["customer"]) == (concert, command.get("customer", ""))
            change = {"released": 1, "booked": -1, "cancelled": 1, "refused": 0}[event["kind"]] * event["seats"]
            if event["kind"] == "refused":
                wanted = {"release": True, "book": command["seats"] <= left[concert]}
                possible = wanted.get(command["kind"], command["seats"] <= booked[seat])
                assert not possible or command["seats"] == 0
            elif event["kind"] != "released":
                booked[seat] -= change
            left[concert] += change
            assert event["left"] == left[concert] >= 0
            assert booked[seat] >= 0
        assert seen.stores[app.ANSWERS] == {event["command"]: event for event in events}
        bookings: dict[str, dict[str, int]] = {}
        for (concert, customer), seats in booked.items():
            if seats:
                bookings.setdefault(customer, {})[concert] = seats
        assert {key: value for key, value in seen.stores[app.BOOKINGS].items() if value} == bookings


PATTERN = CommandsEventsQueries(
    "commands_events_queries",
    (app.add_commands, app.add_queries),
    topics=(app.EVENTS,),
    stores=(app.ANSWERS, app.BOOKINGS),
)
