"""What is done beside records: timers, crontabs, tasks, commands."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

import millstream.agents as faust
from millstream import ArgumentError
from millstream.agents.host.commands import commands_of

START = datetime(2026, 1, 1, 8, tzinfo=UTC)


def test_timers_and_crontabs_are_called_at_their_times() -> None:
    app = faust.App("jobs")
    topic = app.topic("times", value_type=str)
    called: list[str] = []

    @app.timer(interval=20.0)
    async def often() -> None:
        called.append("timer")
        await topic.send(value="tick")

    @app.crontab("30 10 * * *", timezone=ZoneInfo("Europe/Berlin"))
    async def daily(app: faust.App) -> None:
        called.append(f"crontab of {app.id}")

    @app.task
    async def first() -> None:
        called.append("task")

    @app.agent(topic)
    async def listen(stream: faust.Stream) -> None:
        async for value in stream:
            called.append(value)

    with app.test_context(start=START) as test:
        test.run_tasks()
        test.advance(45)
        assert called == ["task", "timer", "tick", "timer", "tick"]
        called.clear()
        test.advance(2 * 3600)
        assert called.count("crontab of jobs") == 1
        assert called.count("timer") == 2 * 3600 // 20


def test_a_crontab_that_is_none_is_refused() -> None:
    with pytest.raises(ArgumentError, match="no line of a crontab"):
        faust.App("jobs").crontab("61 * * * *")


def test_commands_are_listed_and_run() -> None:
    app = faust.App("commands", broker="kafka://127.0.0.1:1")
    done: list[str] = []
    app.Table("rows")

    @app.command()
    async def greet(name: str, loud: bool = False) -> None:
        """Say hello."""
        done.append(name.upper() if loud else name)

    @app.agent(value_type=str)
    async def listen(stream: faust.Stream) -> None:
        """Hear what is said."""
        async for _ in stream:
            pass

    run = CliRunner()
    commands = commands_of(app)
    assert run.invoke(commands, ["greet", "Ann", "--loud"]).exit_code == 0
    assert done == ["ANN"]
    assert "listen  <Topic commands-listen>  Hear what is said." in run.invoke(commands, ["agents"]).output
    assert "rows  commands-rows-changelog" in run.invoke(commands, ["tables"]).output
