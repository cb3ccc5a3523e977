"""Every transfer is booked, or is put aside for good after it was tried again; none is both or neither."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from examples.patterns.dead_letters import app, replay

from millstream import StreamsBuilder

from ..harness.world import Pattern, Row, Seen, Sent, decoded


def add_fixed(builder: StreamsBuilder) -> None:
    app.add_to(builder, app.FIXED_RATES)


def cents(record: Sent) -> int | None:
    """What a transfer is worth after the fix; None if nobody knows."""
    known = isinstance(record.value, dict) and record.value["currency"] in app.FIXED_RATES
    return app.FIXED_RATES[record.value["currency"]] * record.value["amount"] if known else None


class DeadLetters(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for number in range(count):
            currency = chance.choices(("EUR", "USD", "XXX"), (6, 3, 1))[0]
            value = {"currency": currency, "amount": chance.randrange(1, 50)}
            bad = b"poison %d" % number
            records.append(Sent(app.TRANSFERS, f"a{chance.randrange(5)}", bad if chance.random() < 0.1 else value))
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        hopeless = [Row(record.key, decoded(record.raw)) for record in sent if cents(record) is None]
        assert sorted(seen.topics[replay.PARKED], key=str) == sorted(hopeless, key=str)
        totals = Counter[str]()
        booked = Counter[str]()
        for record in sent:
            totals[record.key] += cents(record) or 0
            booked[record.key] += cents(record) is not None
        assert seen.latest(app.TOTALS) == {key: total for key, total in totals.items() if booked[key]}
        assert {key: len(values) for key, values in seen.by_key(app.TOTALS).items()} == +booked


PATTERN = DeadLetters(
    "dead_letters",
    (add_fixed, replay.add_to),
    topics=(app.TOTALS, app.LETTERS, replay.PARKED),
    config=replace(app.config, application_id="dead-letters-test"),
)
