"""Every request that somebody waits for gets a number of its own, the same each time it comes, and none is left out."""

from __future__ import annotations

import random
from collections.abc import Sequence

from examples.patterns.request_reply import app

from ..harness.world import Pattern, Seen, Sent, by_key

LONG_AGO, FAR_AWAY = 1, 10**15
CLIENTS = ("ann", "bob")


class RequestReply(Pattern):
    def inputs(self, chance: random.Random, count: int) -> list[Sent]:
        records: list[Sent] = []
        for number in range(count):
            deadline = LONG_AGO if chance.random() < 0.2 else FAR_AWAY
            request = {"id": f"r{number}", "client": chance.choice(CLIENTS), "deadline": deadline}
            records.append(Sent(app.REQUESTS, f"counter-{chance.randrange(3)}", request))
            if chance.random() < 0.2:  # a client that is not sure asks again
                records.append(chance.choice(records))
        return records

    def check(self, sent: Sequence[Sent], seen: Seen) -> None:
        numbers: dict[str, int] = {}
        for counter, requests in by_key(sent, app.REQUESTS).items():
            alive = dict.fromkeys(request["id"] for request in requests if request["deadline"] == FAR_AWAY)
            numbers |= {request: number for number, request in enumerate(alive, start=1)}
            assert counter
        for client in CLIENTS:
            wanted = [
                {"id": request["id"], "counter": record.key, "number": numbers[request["id"]]}
                for record in sent
                if record.topic == app.REQUESTS
                and (request := record.value)["client"] == client
                and request["id"] in numbers
            ]
            replies = [row.value for row in seen.topics[app.REPLIES_PREFIX + client]]
            assert sorted(replies, key=str) == sorted(wanted, key=str)


PATTERN = RequestReply("request_reply", (app.add_to,), topics=tuple(app.REPLIES_PREFIX + client for client in CLIENTS))
