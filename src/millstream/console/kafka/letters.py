"""Dead letters: why records were put aside, and back to their topics with them.

What was done about a letter is kept in a compacted topic of the service: the key is the letter's place, the value says
what was done. So all servers know it, and whoever opens the console next.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from millstream.console.kafka.looking import Looking
from millstream.console.kafka.shown import data_of, record_json
from millstream.console.kafka.topics import headers_of, last_records
from millstream.kafka.topics import changelog_topic
from millstream.registry.schemas import SchemaRegistry
from millstream.server.problems import BadRequest, Problem
from millstream.sql.engine.topics import TopicDescription, TopicRecord, Topics

#: What handlers write into the headers of dead letters (`millstream.handlers`).
PREFIX = "__streams.errors."
_NODE = re.compile(r"^at node (.+) of task \S+\s*\Z", re.MULTILINE)
#: How many letters of each partition are looked at.
MOST_LETTERS = 1000
_MOST_AT_ONCE = 500
_MOST_READ = 50_000
_LIKELY = ("dlq", "dead-letter", "dead_letter", "deadletter", "dead.letter")


class Letter(msgspec.Struct, frozen=True):
    """Where a letter is, and what to change before it is sent back.

    Args:
        partition: of the dead-letter topic.
        offset: of the letter.
        edit: `key`, `value` or `headers` in place of its own, as in `topics.produce`; nothing: as they are.
    """

    partition: int
    offset: int
    edit: dict[str, Any] | None = None


class DeadLetters:
    """Looks at dead-letter topics, and sends letters back.

    Args:
        looking: asks Kafka.
        topics: writes to Kafka.
        registry: where schemas are, if anywhere.
        service: the name that the service or application has in Kafka.
        known: topics of dead letters that are known.
    """

    def __init__(
        self,
        looking: Looking,
        topics: Callable[[], Topics],
        registry: Callable[[], SchemaRegistry | None],
        service: str,
        known: tuple[str, ...] = (),
    ) -> None:
        self._looking = looking
        self._topics = topics
        self._registry = registry
        self._known = known
        self._done_topic = f"{service}-console-letters"

    def likely_topics(self) -> list[str]:
        """The topics of dead letters that are known, and those whose names say so."""
        topics = [name for name in self._looking.topics() if name != self._done_topic]
        likely = [name for name in topics if any(part in name.lower() for part in _LIKELY)]
        return list(dict.fromkeys([*(name for name in self._known if name in topics), *likely]))

    def letters(self, topic: str) -> dict[str, Any]:
        """The last letters of a topic, the newest first, and how many there are by cause."""
        done = self._done(topic)
        letters = []
        causes: Counter[tuple[str, str | None, bool]] = Counter()
        for record in last_records(self._looking, topic, count=MOST_LETTERS):
            letter = letter_json(record, self._registry())
            letter["done"] = done.get(f"{record.partition}/{record.offset}")
            causes[letter["cause"], letter["from"]["topic"], letter["done"] is None] += 1
            letters.append(letter)
        letters.sort(key=lambda letter: (letter["timestamp"], letter["partition"], letter["offset"]), reverse=True)
        return {
            "topic": topic,
            "letters": letters,
            "causes": [
                {"cause": cause, "topic": origin, "open": is_open, "count": count}
                for (cause, origin, is_open), count in causes.most_common()
            ],
        }

    def letter(self, topic: str, partition: int, offset: int) -> dict[str, Any]:
        """A single letter, whole."""
        (record,) = self._read(topic, [Letter(partition, offset)])
        return letter_json(record, self._registry(), whole=True)

    def replay(self, topic: str, letters: list[Letter], who: str | None) -> int:
        """Send letters back to the topics that they came from, and note that."""
        self._check_count(letters)
        mended = [
            _mended(record, letter.edit) for record, letter in zip(self._read(topic, letters), letters, strict=True)
        ]
        for record, letter in zip(mended, letters, strict=True):
            self._topics().write(record)
            self._note(topic, letter, {"what": "replayed", "edited": letter.edit is not None}, who)
        return len(letters)

    def mark(self, topic: str, letters: list[Letter], who: str | None, *, done: bool) -> int:
        """Note that nothing is left to do about letters, or that there is."""
        self._check_count(letters)
        for letter in letters:
            self._note(topic, letter, {"what": "done"} if done else None, who)
        return len(letters)

    def _read(self, topic: str, letters: list[Letter]) -> list[TopicRecord]:
        """The records of letters, in their order."""
        offsets: dict[int, list[int]] = {}
        for letter in letters:
            offsets.setdefault(letter.partition, []).append(letter.offset)
        found = {}
        for partition, wanted in offsets.items():
            first, count = min(wanted), max(wanted) - min(wanted) + 1
            if count > _MOST_READ:
                raise BadRequest("the letters are too far apart", detail=f"at most {_MOST_READ} offsets are read")
            for record in last_records(self._looking, topic, partition=partition, offset=first, count=count):
                found[partition, record.offset] = record
        for letter in letters:
            if (letter.partition, letter.offset) not in found:
                where = f"partition {letter.partition} of topic {topic}"
                raise Problem(404, "UnknownLetter", f"there is no record {letter.offset} in {where}")
        return [found[letter.partition, letter.offset] for letter in letters]

    @staticmethod
    def _check_count(letters: list[Letter]) -> None:
        if not 1 <= len(letters) <= _MOST_AT_ONCE:
            raise BadRequest(f"from 1 to {_MOST_AT_ONCE} letters at a time", detail=f"{len(letters)} were given")

    def _note(self, topic: str, letter: Letter, what: dict[str, Any] | None, who: str | None) -> None:
        topics = self._topics()
        if topics.describe(self._done_topic) is None:
            made = changelog_topic(self._done_topic, 1)
            topics.create(TopicDescription(made.name, 1, -1, {**made.defaults, **made.config}))
        now = int(time.time() * 1000)
        note = None if what is None else msgspec.json.encode({**what, "who": who, "when": now})
        key = f"{topic}/{letter.partition}/{letter.offset}".encode()
        topics.write(TopicRecord(self._done_topic, key, note, now))

    def _done(self, topic: str) -> dict[str, Any]:
        if self._done_topic not in self._looking.topics():
            return {}
        at = (self._done_topic, 0)
        found: dict[str, Any] = {}
        for record in self._looking.records({at: self._looking.bounds([at])[at]}):
            name, _, place = (record.key or b"").decode(errors="replace").partition("/")
            if name == topic:
                found[place] = None if record.value is None else msgspec.json.decode(record.value)
        return found


def letter_json(record: TopicRecord, registry: SchemaRegistry | None, *, whole: bool = False) -> dict[str, Any]:
    """A dead letter: the record, where it came from, and what was wrong with it."""
    found = record_json(record, registry, whole=whole)
    errors = {
        name.removeprefix(PREFIX): text
        for name, text in found["headers"]
        if name.startswith(PREFIX) and text is not None
    }
    found["headers"] = [[name, text] for name, text in found["headers"] if not name.startswith(PREFIX)]
    found["cause"] = errors.get("exception", "unknown")
    found["message"] = errors.get("message")
    found["stacktrace"] = errors.get("stacktrace")
    found["node"] = _node_of(errors.get("stacktrace"))
    found["from"] = {
        "topic": errors.get("topic"),
        "partition": errors.get("partition"),
        "offset": errors.get("offset"),
    }
    return found


def _node_of(stacktrace: str | None) -> str | None:
    """The node at which it failed, as the last line of the stack trace says (`millstream.handlers`)."""
    found = None if stacktrace is None else _NODE.search(stacktrace)
    return None if found is None else found[1]


def _mended(record: TopicRecord, edit: dict[str, Any] | None) -> TopicRecord:
    """What is sent back: the record as it was before it failed, with what was edited."""
    errors = {name: value for name, value in record.headers if name.startswith(PREFIX)}
    origin = errors.get(f"{PREFIX}topic")
    if origin is None:
        raise Problem(
            422,
            "NoOrigin",
            "the record does not say which topic it is from",
            detail=f"record {record.offset} in partition {record.partition} has no header {PREFIX}topic",
            hint="write it to its topic by hand, on the page of that topic",
        )
    edit = edit or {}
    return TopicRecord(
        origin.decode(errors="replace"),
        data_of(edit["key"]) if "key" in edit else record.key,
        data_of(edit["value"]) if "value" in edit else record.value,
        record.timestamp,
        headers_of(edit["headers"])
        if "headers" in edit
        else tuple(header for header in record.headers if not header[0].startswith(PREFIX)),
    )
