"""Every version is there once, and the newest of them is the latest, in whatever order they came."""

from __future__ import annotations

import random
from collections.abc import Sequence

from examples.patterns.latest_and_versioned import app

from ..harness.world import Pattern, Seen, Sent, by_key


class LatestAndVersioned(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records = []
        for key in (f"d{number}" for number in range(4)):
            for number in range(1, count // 5 + 1):
                text = None if chance.random() < 0.2 else f"text {number}"
                times = 2 if chance.random() < 0.2 else 1
                records += [Sent(app.EDITS, key, {"number": number, "text": text})] * times
        # Out of order by some places: editors send from several machines.
        return sorted(records, key=lambda record: record.value["number"] + chance.uniform(0, 4))

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        versioned, latest = seen.by_key(app.VERSIONED), seen.by_key(app.LATEST)
        edits = by_key(sent, app.EDITS)
        assert versioned.keys() == latest.keys() == edits.keys()
        for key, versions in edits.items():
            wanted = {version["number"]: version for version in versions}
            arrived = [version["number"] for version in versioned[key]]
            assert sorted(arrived) == sorted(wanted)
            assert all(wanted[version["number"]] == version for version in versioned[key])
            newest = [
                version for at, version in enumerate(versioned[key]) if version["number"] == max(arrived[: at + 1])
            ]
            assert latest[key] == [version if version["text"] is not None else None for version in newest]


PATTERN = LatestAndVersioned(
    "latest_and_versioned", (app.add_link, app.add_history), topics=(app.VERSIONED, app.LATEST)
)
