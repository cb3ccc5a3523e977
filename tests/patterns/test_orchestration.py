"""What the process manager does when something goes wrong, step by step."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from examples.patterns.orchestration import app

from millstream import Serdes, StreamsBuilder
from millstream.testing import TopologyTestDriver

TIMEOUT = timedelta(milliseconds=app.Step("", 0).timeout_ms)
TRIP = app.Trip((app.Step("flight/1", 1), app.Step("hotel/1", 2)))


class Manager:
    """The manager alone: the test is everybody else."""

    def __init__(self) -> None:
        builder = StreamsBuilder()
        app.add_manager(builder)
        self.driver = TopologyTestDriver(builder.build(), wall_clock_start=0)
        self.trips = self.driver.input_topic(app.TRIPS, Serdes.string, Serdes.json(app.Trip))
        self._replies = self.driver.input_topic(app.REPLIES, Serdes.string, Serdes.json(app.Reply))
        self._commands = self.driver.output_topic(app.COMMANDS, Serdes.string, Serdes.json(app.Command))
        self._outcomes = self.driver.output_topic(app.OUTCOMES, Serdes.string, Serdes.string)
        self.trips.pipe("t", TRIP)

    def reply(self, step: int, action: app.Action, done: bool = True) -> None:
        self._replies.pipe("t", app.Reply(step, action, done, 0))

    def wait(self) -> None:
        self.driver.advance_wall_clock(TIMEOUT)

    def commands(self) -> list[tuple[str, int, str]]:
        return [(key, it.step, it.action) for key, it in self._commands.read_key_values()]

    def outcomes(self) -> list[Any]:
        return self._outcomes.read_values()


@pytest.fixture
def manager() -> Iterator[Manager]:
    found = Manager()
    yield found
    found.driver.close()


def test_all_steps_are_done(manager: Manager) -> None:
    assert manager.commands() == [("flight/1", 0, "do")]
    manager.reply(0, "do")
    assert manager.commands() == [("hotel/1", 1, "do")]
    manager.reply(1, "do")
    assert (manager.commands(), manager.outcomes()) == ([], ["booked"])


def test_a_refusal_undoes_what_was_done_before(manager: Manager) -> None:
    manager.reply(0, "do")
    manager.commands()
    manager.reply(1, "do", done=False)
    assert manager.commands() == [("flight/1", 0, "undo")]
    manager.reply(0, "undo")
    assert manager.outcomes() == ["failed"]


def test_a_timeout_undoes_the_step_that_was_not_answered_as_well(manager: Manager) -> None:
    manager.reply(0, "do")
    manager.commands()
    manager.wait()
    assert manager.commands() == [("hotel/1", 1, "undo")]
    manager.reply(1, "do")  # too late
    assert manager.commands() == []
    manager.reply(1, "undo")
    assert manager.commands() == [("flight/1", 0, "undo")]
    manager.reply(0, "undo")
    assert manager.outcomes() == ["failed"]
    manager.reply(1, "do")
    manager.trips.pipe("t", TRIP)
    assert (manager.commands(), manager.outcomes()) == ([], [])


def test_an_undo_is_sent_until_it_is_answered(manager: Manager) -> None:
    manager.commands()
    for _ in range(3):
        manager.wait()
        assert manager.commands() == [("flight/1", 0, "undo")]
    manager.reply(0, "undo")
    assert manager.outcomes() == ["failed"]
    manager.wait()
    assert (manager.commands(), manager.outcomes()) == ([], [])


def test_a_step_that_comes_after_its_undo_is_refused() -> None:
    builder = StreamsBuilder()
    app.add_resources(builder)
    with TopologyTestDriver(builder.build()) as driver:
        driver.input_topic(app.CAPACITIES, Serdes.string, Serdes.json(int)).pipe("flight/1", 5)
        commands = driver.input_topic(app.COMMANDS, Serdes.string, Serdes.json(app.Command))
        for action in ("undo", "do", "undo"):
            commands.pipe("flight/1", app.Command("t", 0, action, 2))
        replies = driver.output_topic(app.REPLIES, Serdes.string, Serdes.json(app.Reply)).read_values()
        assert [(reply.done, reply.free) for reply in replies] == [(True, 5), (False, 5), (True, 5)]
