"""When it is told that a transaction does not end."""

from __future__ import annotations

from millstream.kafka.undecided import UndecidedTransactions

AT = ("pairs", 1)


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def looking() -> tuple[UndecidedTransactions, Time]:
    time = Time()
    return UndecidedTransactions(60, time), time


def test_one_that_does_not_end_is_told_once() -> None:
    found, time = looking()
    assert found.look({AT: 206}, {AT: 273}) == []
    time.now = 59
    assert found.look({AT: 206}, {AT: 280}) == []
    time.now = 60
    (undecided,) = found.look({AT: 206}, {AT: 290})
    said = str(undecided)
    assert said.startswith("pairs-1: readers of committed records have stood at offset 206 for 60 s")
    assert "records up to 290 are there" in said
    assert "find-hanging" in said
    assert "abort --topic pairs --partition 1 --start-offset 206" in said
    time.now = 1_000
    assert found.look({AT: 206}, {AT: 300}) == []


def test_after_it_has_moved_another_one_is_told_again() -> None:
    found, time = looking()
    found.look({AT: 206}, {AT: 273})
    time.now = 60
    assert len(found.look({AT: 206}, {AT: 273})) == 1
    time.now = 90
    assert found.look({AT: 273}, {AT: 280}) == []
    time.now = 149
    assert found.look({AT: 273}, {AT: 280}) == []
    time.now = 150
    assert [undecided.decided for undecided in found.look({AT: 273}, {AT: 280})] == [273]


def test_readers_that_get_on_or_have_everything_are_not_told() -> None:
    found, time = looking()
    for now in range(0, 600, 30):
        time.now = now
        assert found.look({AT: now, ("done", 0): 5}, {AT: now + 10, ("done", 0): 5}) == []


def test_the_time_does_not_count_in_which_there_was_nothing_to_wait_for() -> None:
    found, time = looking()
    found.look({AT: 5}, {AT: 9})
    time.now = 30
    found.look({AT: 9}, {AT: 9})
    time.now = 60
    assert found.look({AT: 9}, {AT: 12}) == []
    time.now = 119
    assert found.look({AT: 9}, {AT: 12}) == []
