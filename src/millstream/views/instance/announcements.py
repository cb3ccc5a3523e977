"""What instances tell each other, in the compacted topic `<application_id>-views`, and who of them is alive.

Every instance announces itself twice a second under its id, with an empty record when it leaves. Its age is measured
from when it was heard, on the clock of who hears it, so that clocks need not agree; what was written before somebody
began to listen tells of nobody that he is alive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from millstream.kafka.topics import NewTopic
from millstream.views.answers import Instance

#: How often an instance announces itself.
ANNOUNCE_SECONDS = 0.5
#: After so long without a word an instance is not asked any more.
SILENT_SECONDS = 1.5
#: After so long others take its place. Longer, as making copies is work.
GONE_SECONDS = 10.0


class CopyState(msgspec.Struct, frozen=True, array_like=True):
    """An instance's copy of a store's partition: how far it is, and whether it can be asked."""

    position: int
    has_read_up: bool


class Announcement(msgspec.Struct, frozen=True, kw_only=True):
    """What an instance says of itself.

    Args:
        id: its name.
        host: where it can be asked.
        port: the port there.
        sent_ms: when it said so, on its own clock; for people.
        owned: the tasks that it answers for.
        copies: its copies, by task and store.
    """

    id: str
    host: str | None
    port: int
    sent_ms: int
    owned: frozenset[str] = frozenset()
    copies: dict[str, dict[str, CopyState]] = {}

    @property
    def instance(self) -> Instance:
        """Whom it is of."""
        return Instance(self.id, self.host, self.port)

    def has_read_up(self, task: str, store: str) -> bool:
        """Whether it has a copy that can be asked."""
        copy = self.copies.get(task, {}).get(store)
        return copy is not None and copy.has_read_up

    def has_all_of(self, task: str) -> bool:
        """Whether all stores of a task can be asked."""
        copies = self.copies.get(task)
        return copies is not None and all(copy.has_read_up for copy in copies.values())


def announcements_topic(application_id: str) -> NewTopic:
    """The topic: small pieces that are compacted soon, as only the last word of each instance counts."""
    settings = {
        "cleanup.policy": "compact",
        "segment.bytes": str(4 * 1024 * 1024),
        "segment.ms": "600000",
        "min.cleanable.dirty.ratio": "0.1",
        "delete.retention.ms": "600000",
    }
    return NewTopic(f"{application_id}-views", 1, defaults=settings)


def encode(announcement: Announcement) -> bytes:
    """An announcement as JSON, for everybody to read."""
    return msgspec.json.encode(announcement)


_decoder = msgspec.json.Decoder(Announcement)


@dataclass
class Roster:
    """The instances and when they were last heard. Used by one thread; others use what `alive` gave out.

    Args:
        me: the id of this instance, which hears itself as it speaks.
    """

    me: str
    _known: dict[str, tuple[Announcement, float]] = field(default_factory=dict)

    def hear(self, key: bytes, value: bytes | None, now: float, *, is_old: bool = False) -> None:
        """Take note of a record of the topic.

        Args:
            key: the id of an instance.
            value: what it says; None: it has left.
            now: the moment.
            is_old: it was there before this instance began to listen.
        """
        name = key.decode(errors="replace")
        if name == self.me:
            return
        if value is None:
            self._known.pop(name, None)
        elif not is_old:
            try:
                self._known[name] = _decoder.decode(value), now
            except msgspec.MsgspecError:
                return  # of another version of Millstream

    def speak(self, announcement: Announcement, now: float) -> None:
        """Take note of what this instance says of itself."""
        self._known[self.me] = announcement, now

    def alive(self, now: float, within: float = SILENT_SECONDS) -> Mapping[str, Announcement]:
        """Those that were heard not longer ago than this, by id; this instance is always there."""
        return {
            name: announcement
            for name, (announcement, heard) in sorted(self._known.items())
            if name == self.me or now - heard <= within
        }

    def forget(self, now: float) -> None:
        """Forget those that are gone."""
        for name, (_, heard) in list(self._known.items()):
            if name != self.me and now - heard > GONE_SECONDS:
                del self._known[name]
