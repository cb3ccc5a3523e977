"""What the relay sent, once or several times, is there once and in the order of each aggregate."""

from __future__ import annotations

import random
from collections.abc import Sequence

from examples.patterns.transactional_outbox import app

from ..harness.world import Pattern, Seen, Sent, by_key


class TransactionalOutbox(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        """What a relay sends that is killed now and then between sending and noting what it sent."""
        outbox: list[Sent] = []
        records: list[Sent] = []
        for number in range(1, count + 1):
            event = {"number": number, "kind": "price-set", "payload": {"cents": chance.randrange(1, 100)}}
            outbox.append(Sent(app.RELAYED, f"o{chance.randrange(6)}", event))
            records.append(outbox[-1])
            if chance.random() < 0.1:  # killed: sends all of the outbox again
                records += outbox
            elif chance.random() < 0.3:
                outbox.clear()
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        wanted = {
            key: [event for _, event in sorted({event["number"]: event for event in events}.items())]
            for key, events in by_key(sent, app.RELAYED).items()
        }
        assert seen.by_key(app.EVENTS) == wanted


PATTERN = TransactionalOutbox("transactional_outbox", (app.add_to,), topics=(app.EVENTS,))
