"""The way of a question: whom it goes to, and what happens when one cannot answer."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millstream.errors import InstanceUnreachable, NotReady, NotUpToBound, PartitionNotHere, ViewError, WrongQuery
from millstream.kafka.partitioner import partition_for
from millstream.views.answers import Answer, Instance, Row
from millstream.views.instance.announcements import Announcement, CopyState
from millstream.views.instance.copies import Task, TaskCopies
from millstream.views.instance.layout import Layout
from millstream.views.queries import KeyQuery, KeysQuery, Position, Query, RangeQuery, Requirements
from millstream.views.questions.asking import Asking

from .test_copies import KEY_VALUE, record, taken

PARTITIONS = 4
KEYS = [b"k%d" % number for number in range(20)]


class Others:
    """Stands in for other instances: what each of them has, or raises."""

    def __init__(self) -> None:
        self.instances: dict[str, Any] = {}
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def ask(
        self, instance: Instance, store: str, query: Query, requirements: Requirements, partitions: Collection[int]
    ) -> Answer:
        self.asked.append((instance.id, tuple(partitions)))
        there = self.instances[instance.id]
        if isinstance(there, ViewError):
            raise there
        answer: Answer = there.here(KEY_VALUE, query, requirements, partitions)
        return answer


def announced(name: str, owned: Collection[int], held: Collection[int], host: str | None = "host") -> Announcement:
    return Announcement(
        id=name,
        host=host,
        port=1,
        sent_ms=0,
        owned=frozenset(f"2_{number}" for number in owned),
        copies={f"2_{number}": {"s": CopyState(1, True)} for number in held},
    )


def instance(
    directory: Path,
    name: str,
    held: Collection[int],
    alive: dict[str, Announcement],
    others: Others | None,
    view: Any = KEY_VALUE,
) -> Asking:
    copies = {}
    for number in held:
        (copy,) = TaskCopies(Task(2, number), [(view, "")], directory / name).copies
        mine = [key for key in KEYS if partition_for(key, PARTITIONS) == number]
        copy.apply(number, taken(*(record(offset, key, b"v", 5) for offset, key in enumerate(mine))))
        copy.look(number, 0, 0.0)
        copies["s", number] = copy
    layout = Layout((view,), {view.topic: PARTITIONS}, {})
    server: Any = SimpleNamespace(
        check=lambda: layout,
        reading=SimpleNamespace(copies=copies),
        members=SimpleNamespace(alive=alive),
        look_now=lambda copies: None,
    )
    return Asking(server, Instance(name, "host", 1), others, 1000)


@pytest.fixture
def others() -> Others:
    return Others()


def test_scans_go_to_owners_and_come_back_in_order(tmp_path: Path, others: Others) -> None:
    alive = {"me": announced("me", [0, 1], [0, 1]), "you": announced("you", [2, 3], [2, 3])}
    me = instance(tmp_path, "me", [0, 1], alive, others)
    others.instances["you"] = instance(tmp_path, "you", [2, 3], alive, None)
    answer = me.ask(KEY_VALUE, RangeQuery(), Requirements())
    assert [row.key for row in answer.rows] == sorted(KEYS)
    assert {number: by.instance for number, by in answer.answered_by.items()} == {0: "me", 1: "me", 2: "you", 3: "you"}
    assert others.asked == [("you", (2, 3))]
    some = me.ask(KEY_VALUE, RangeQuery(reverse=True), Requirements(limit=3))
    assert ([row.key for row in some.rows], some.more) == (sorted(KEYS)[:-4:-1], True)
    assert set(me.ask(KEY_VALUE, RangeQuery(), Requirements(partitions=frozenset((1,)))).lags) == {1}


def test_a_key_is_asked_where_it_is(tmp_path: Path, others: Others) -> None:
    alive = {"me": announced("me", [0, 1], [0, 1]), "you": announced("you", [2, 3], [2, 3])}
    me = instance(tmp_path, "me", [0, 1], alive, others)
    others.instances["you"] = instance(tmp_path, "you", [2, 3], alive, None)
    for key in KEYS:
        assert me.ask(KEY_VALUE, KeyQuery(key), Requirements()).rows == [Row(key, b"v", 5)]
    assert all(len(numbers) == 1 for _, numbers in others.asked)
    found = me.ask(KEY_VALUE, KeysQuery((*reversed(KEYS), b"nobody")), Requirements(limit=1))
    assert [row.key for row in found.rows] == list(reversed(KEYS))
    assert me.ask(KEY_VALUE, KeysQuery(()), Requirements()).rows == []


@pytest.mark.parametrize(
    "why", [InstanceUnreachable("gone"), PartitionNotHere("moved"), NotReady("no"), NotUpToBound("no")]
)
def test_another_copy_answers_if_the_owner_does_not(tmp_path: Path, others: Others, why: ViewError) -> None:
    alive = {
        "me": announced("me", [], []),
        "owner": announced("owner", range(4), range(4)),
        "reserve": announced("reserve", [], range(4)),
    }
    me = instance(tmp_path, "me", [], alive, others)
    others.instances = {"owner": why, "reserve": instance(tmp_path, "reserve", range(4), alive, None)}
    answer = me.ask(KEY_VALUE, RangeQuery(), Requirements())
    assert len(answer.rows) == len(KEYS)
    assert all(by.instance == "reserve" and by.is_standby for by in answer.answered_by.values())
    others.instances["reserve"] = InstanceUnreachable("gone, too")
    with pytest.raises(type(why), match=why.primary):  # what the owner said
        me.ask(KEY_VALUE, RangeQuery(), Requirements())


def test_what_is_wrong_with_a_question_is_told_at_once(tmp_path: Path, others: Others) -> None:
    alive = {"owner": announced("owner", range(4), range(4)), "reserve": announced("reserve", [], range(4))}
    me = instance(tmp_path, "me", [], alive, others)
    others.instances = {"owner": WrongQuery("no"), "reserve": WrongQuery("never asked")}
    with pytest.raises(WrongQuery, match=r"^no$"):
        me.ask(KEY_VALUE, KeyQuery(b"k1"), Requirements())


def test_a_partition_on_the_move_is_never_empty(tmp_path: Path, others: Others) -> None:
    alive = {"me": announced("me", [0], [0]), "new": announced("new", [1, 2, 3], [])}
    me = instance(tmp_path, "me", [0], alive, others)
    with pytest.raises(NotReady, match="partition 1 of store 's'"):
        me.ask(KEY_VALUE, RangeQuery(), Requirements())
    for key in KEYS:
        if partition_for(key, PARTITIONS) == 0:
            assert me.ask(KEY_VALUE, KeyQuery(key), Requirements()).rows
        else:
            with pytest.raises(NotReady):
                me.ask(KEY_VALUE, KeyQuery(key), Requirements())


def test_a_bound_that_a_near_copy_misses_is_asked_of_the_owner(tmp_path: Path, others: Others) -> None:
    alive = {"me": announced("me", [], range(4)), "owner": announced("owner", range(4), range(4))}
    me, owner = (instance(tmp_path, name, range(4), alive, others) for name in ("me", "owner"))
    others.instances["owner"] = owner
    key = KEYS[0]
    number = partition_for(key, PARTITIONS)
    ahead = owner._server.reading.copies["s", number]
    ahead.apply(number, taken(record(1000, key, b"new", 9)))
    bound = Position({KEY_VALUE.topic: {number: 1001}})
    near = Requirements(allow_standby=True)
    assert me.ask(KEY_VALUE, KeyQuery(key), near).rows == [Row(key, b"v", 5)]
    assert me.ask(KEY_VALUE, KeyQuery(key), replace(near, bound=bound)).rows == [Row(key, b"new", 9)]


def test_keys_that_others_wrote_may_be_anywhere(tmp_path: Path, others: Others) -> None:
    alive = {"me": announced("me", range(4), range(4))}
    scattered = replace(KEY_VALUE, scattered=True)
    me = instance(tmp_path, "me", range(4), alive, others, scattered)
    astray = KEYS[3]
    home = partition_for(astray, PARTITIONS)
    copies = me._server.reading.copies
    copies["s", home].apply(home, taken(record(1000, astray, None, 9)))
    elsewhere = (home + 1) % PARTITIONS
    copies["s", elsewhere].apply(elsewhere, taken(record(1000, astray, b"astray", 9)))
    assert me.ask(scattered, KeyQuery(astray), Requirements()).rows == [Row(astray, b"astray", 9)]
    assert me.ask(KEY_VALUE, KeyQuery(astray), Requirements()).rows == []
    assert [row.key for row in me.ask(scattered, KeysQuery(tuple(KEYS)), Requirements()).rows] == KEYS
    assert me.ask(scattered, KeyQuery(b"nobody"), Requirements()).rows == []


def test_who_cannot_be_asked_from_here_is_named(tmp_path: Path, others: Others) -> None:
    alive = {"you": announced("you", range(4), range(4), host=None)}
    me = instance(tmp_path, "me", [], alive, others)
    with pytest.raises(PartitionNotHere, match="on instance you"):
        me.ask(KEY_VALUE, KeyQuery(b"k1"), Requirements())
    assert others.asked == []
