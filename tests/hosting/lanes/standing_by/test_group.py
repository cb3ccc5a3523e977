"""The real group: who is in it, and who gets the slots of one that goes or comes, as `placement` says."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from millstream import StreamsConfig
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.standing_by.group import Group, Member
from millstream.hosting.lanes.standing_by.placement import heirs, share_of_newcomer
from millstream.kafka.admin import Admin
from millstream.kafka.detached import DetachedBroker

SLOTS = 11


class OnlyMember:
    """A lane that does nothing but be in the group."""

    def __init__(self, settings: LaneSettings) -> None:
        self._settings = settings
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        membership = Membership(
            self._settings, may_join=lambda: True, gained=lambda slots: None, lost=lambda slots, in_time: None
        )
        while not self._ends.is_set():
            membership.poll(0.05)
        membership.close()

    def leave(self) -> None:
        self._ends.set()
        self._thread.join()


class Lanes:
    """Lanes by number, and their group."""

    def __init__(self, servers: str, admin: Admin) -> None:
        name = f"group-{uuid.uuid4().hex[:8]}"
        admin.ensure_topic(slots_topic(name, SLOTS))
        self._config = StreamsConfig(application_id=name, bootstrap_servers=servers)
        self._group = Group(self._config, self._settings(0).group, self._settings(0).topic)
        self.lanes: dict[int, OnlyMember] = {}

    def _settings(self, number: int) -> LaneSettings:
        return LaneSettings(self._config, self._config.application_id, f"x-{number}")

    def start(self, number: int) -> None:
        self.lanes[number] = OnlyMember(self._settings(number))

    def leave(self, number: int) -> None:
        self.lanes.pop(number).leave()

    def settled(self) -> dict[int, Member]:
        """The members, once all slots are theirs for a while."""
        end, last, same = time.monotonic() + 60, None, 0
        while same < 10:
            assert time.monotonic() < end, f"not settled: {last}"
            time.sleep(0.1)
            found = self._group.look()
            is_whole = found is not None and sum(len(member.slots) for member in found) == SLOTS
            same = same + 1 if is_whole and len(found or ()) == len(self.lanes) and found == last else 0
            last = found
        assert last is not None
        return {int(member.client.rpartition("-")[2]): member for member in last}


@pytest.fixture
def lanes(broker: DetachedBroker, admin: Admin) -> Iterator[Lanes]:
    started = Lanes(broker.bootstrap_servers, admin)
    yield started
    for number in list(started.lanes):
        started.leave(number)


def test_slots_go_where_it_is_expected(lanes: Lanes) -> None:
    assert lanes._group.look() == []
    for number in range(3):
        lanes.start(number)
    members = lanes.settled()
    assert {member.host for member in members.values()} == {"127.0.0.1"}
    expected = heirs(members.values(), [members[1]])
    lanes.leave(1)
    after = lanes.settled()
    assert {slot: member.id for member in after.values() for slot in member.slots if slot in expected} == expected
    share = share_of_newcomer(after.values(), 1)
    lanes.start(3)
    assert lanes.settled()[3].slots == share
