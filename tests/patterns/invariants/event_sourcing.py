"""Events are what the commands lead to, one after the other; snapshots and the events after them are all events."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from examples.patterns.event_sourcing import app

from ..harness.world import Pattern, Seen, Sent, by_key


def account(value: Any) -> app.Account | None:
    return None if value is None else app.Account(**value)


class EventSourcing(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for number in range(count):
            kind = chance.choices(("deposit", "withdraw", "close"), (5, 4, 1))[0]
            cents = 0 if kind == "close" else chance.randrange(1, 50)
            # Who expects a version saw the account some time ago, and may be wrong.
            expected = chance.randrange(1 + number // 3) if chance.random() < 0.2 else None
            records.append(
                Sent(app.COMMANDS, f"a{chance.randrange(5)}", {"kind": kind, "cents": cents, "expected": expected})
            )
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        accounts: dict[str, app.Account] = {}
        events: dict[str, list[app.Event]] = {}
        refused: dict[str, list[str]] = {}
        for key, commands in by_key(sent, app.COMMANDS).items():
            for command in commands:
                decision = app.decide(accounts.get(key, app.Account()), app.Command(**command))
                accounts[key] = decision.account
                if decision.event is None:
                    refused.setdefault(key, []).append(decision.refusal)
                else:
                    events.setdefault(key, []).append(decision.event)
        assert all(it.cents >= 0 for it in accounts.values())
        told = [(row.key, app.Event(**row.value)) for row in seen.topics[app.EVENTS]]
        assert {key: [event for of, event in told if of == key] for key in events} == events
        assert seen.by_key(app.REFUSALS) == refused
        snapshots = [(row.key, account(row.value)) for row in seen.topics[app.SNAPSHOTS]]
        rebuilt = app.rebuild([], told)
        assert rebuilt == {key: it for key, it in accounts.items() if it.version and not it.closed}
        assert app.rebuild(snapshots, told) == rebuilt
        deposited = sum(event.cents for _, event in told if event.kind == "deposited")
        withdrawn = sum(event.cents for _, event in told if event.kind == "withdrawn")
        assert sum(it.cents for it in accounts.values()) == deposited - withdrawn


PATTERN = EventSourcing("event_sourcing", (app.add_to,), topics=(app.EVENTS, app.SNAPSHOTS, app.REFUSALS))
