"""Latest and versioned: every version of a document in one topic, the newest alone in another.

    millstream run examples.patterns.latest_and_versioned.app --port 8090

Who audits or travels in time reads `documents-versioned`, which is kept; who only wants to know how things are reads
`documents-latest`, which is compacted. One job writes both, in one transaction, so that neither knows more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from millstream import (
    Consumed,
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    FixedKeyRecord,
    Materialized,
    Produced,
    Serdes,
    Stores,
    StreamsBuilder,
    StreamsConfig,
    Topology,
)

config = StreamsConfig(application_id="latest-and-versioned", processing_guarantee="exactly_once_v2")

EDITS, VERSIONED, LATEST = "document-edits", "documents-versioned", "documents-latest"
HISTORY = "document-history"
KEPT = timedelta(days=30)


@dataclass(frozen=True)
class Version:
    """A version of a document. Its number, not its arrival, says which is newer; a text of None deletes."""

    number: int
    text: str | None


@dataclass(frozen=True)
class Numbers:
    """Which versions of a document were seen: all up to `complete`, and those of `ahead`, which came early."""

    complete: int = 0
    ahead: tuple[int, ...] = ()

    @property
    def newest(self) -> int:
        return max((self.complete, *self.ahead))

    def has(self, number: int) -> bool:
        return number <= self.complete or number in self.ahead

    def with_number(self, number: int) -> Numbers:
        complete, ahead = self.complete, {*self.ahead, number}
        while complete + 1 in ahead:
            complete += 1
            ahead.remove(complete)
        return Numbers(complete, tuple(sorted(ahead)))


@dataclass(frozen=True)
class Seen:
    """A version that is new here, and whether it is the newest of all."""

    version: Version
    newest: bool


class Sort(FixedKeyProcessor[str, Version, Seen]):
    """Drops what came twice, and finds out what is newest."""

    def init(self, context: FixedKeyProcessorContext[str, Seen]) -> None:
        super().init(context)
        self.numbers = context.state_store("document-numbers")

    def process(self, record: FixedKeyRecord[str, Version]) -> None:
        numbers, version = self.numbers.get(record.key) or Numbers(), record.value
        if not numbers.has(version.number):
            self.numbers.put(record.key, numbers.with_number(version.number))
            self.context.forward(record.with_value(Seen(version, version.number > numbers.newest)))


def add_link(builder: StreamsBuilder) -> None:
    """Edits in; all versions, and the newest, out."""
    builder.add_state_store(
        Stores.key_value_store(Stores.persistent_key_value("document-numbers"), Serdes.string, Serdes.json(Numbers))
    )
    edits = builder.stream(EDITS, Consumed(Serdes.string, Serdes.json(Version)))
    seen = edits.process_values(Sort, "document-numbers", name="sort")
    seen.map_values(lambda it: it.version).to(VERSIONED, Produced(Serdes.string, Serdes.json(Version)))
    (
        seen.filter(lambda key, it: it.newest, name="newest")
        .map_values(lambda it: None if it.version.text is None else it.version)
        .to(LATEST, Produced(Serdes.string, Serdes.json(Version)))
    )


def add_history(builder: StreamsBuilder) -> None:
    """A store of all versions, which can be asked how a document was at any time."""
    builder.table(
        VERSIONED,
        Consumed(Serdes.string, Serdes.json(Version)),
        Materialized(store=Stores.persistent_versioned_key_value(HISTORY, KEPT)),
    )


def add_to(builder: StreamsBuilder) -> None:
    """Both; as they meet in a topic, they may as well be applications of their own."""
    add_link(builder)
    add_history(builder)


def topology() -> Topology:
    """The job that links the two topics, and a history made of one of them."""
    builder = StreamsBuilder()
    add_to(builder)
    return builder.build()
