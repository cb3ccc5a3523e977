"""What the results have to be: computed from what lies in the input topics, whatever the feed meant to write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from .reading import Reader
from .topics import Topics

_MINUTE_MS = 60_000


@dataclass(frozen=True)
class Truth:
    """How often each key of each result topic has to be counted; of pairs, how often each must be there."""

    records: int
    expected: Mapping[str, Mapping[str, int]]


def truth(bootstrap: str, topics: Topics, visits_before: Mapping[str, int], *, decided: bool = False) -> Truth:
    """Read the input topics, as a consumer does who sees committed records only.

    Args:
        bootstrap: the broker's address.
        topics: the topics.
        visits_before: visits that were counted before their topic was deleted and made again.
        decided: do not wait for transactions that are not decided.
    """
    visits = Counter(visits_before)
    users, minutes, clicked, bought = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    records = 0
    reader = Reader(bootstrap, topics.inputs)
    try:
        for message in reader.read_to_end(decided=decided):
            user, number = (message.key() or b"").decode(), (message.value() or b"").decode()
            records += 1
            if message.topic() == topics.visits:
                visits[user] += 1
            elif message.topic() == topics.clicks:
                users[user] += 1
                minutes[f"{user}@{message.timestamp()[1] // _MINUTE_MS * _MINUTE_MS}"] += 1
                clicked[number] += 1
            else:
                bought[number] += 1
    finally:
        reader.close()
    pairs = {number: count * bought[number] for number, count in clicked.items() if bought[number]}
    return Truth(
        records,
        {topics.visit_counts: visits, topics.counts: users, topics.minutes: minutes, topics.pairs: pairs},
    )
