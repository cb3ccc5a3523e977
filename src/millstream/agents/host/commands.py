"""The command line of an application: `python app.py worker`, and the commands it declares."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from millstream.agents.declared import Declared
from millstream.agents.host.client import Client
from millstream.errors import ArgumentError, MillstreamError
from millstream.kafka.embedded import with_broker


def main(app: Declared, arguments: list[str] | None) -> None:
    """Run the command that the arguments name."""
    try:
        commands_of(app)(args=arguments, prog_name=Path(sys.argv[0]).name)
    except MillstreamError as error:
        typer.echo(f"error: {error}", err=True)
        raise SystemExit(1) from None


def commands_of(app: Declared) -> typer.Typer:
    """All commands."""
    found = typer.Typer(add_completion=False, no_args_is_help=True, help=f"The application {app.id}.")

    @found.command()
    def worker(
        loglevel: Annotated[str, typer.Option("--loglevel", "-l", help="debug, info, warning or error")] = "warning",
    ) -> None:
        """Run the application until Ctrl-C."""
        from millstream.agents.host.worker import Worker

        logging.basicConfig(level=loglevel.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        Worker(app).run()

    @found.command()
    def send(
        to: Annotated[str, typer.Argument(help="a topic, or @ and the name of an agent")],
        value: Annotated[str, typer.Argument(help="the value, as JSON or text")],
        key: Annotated[str | None, typer.Option("--key", "-k", help="the key")] = None,
    ) -> None:
        """Send a record to a topic or an agent."""
        with Client(app, with_broker(app.conf.streams)):
            _topic(app, to).send_soon(key=key, value=_value(value))

    @found.command()
    def agents() -> None:
        """List the agents and what they read."""
        for agent in app.agents.values():
            typer.echo(f"{agent.name}  {agent.channel!r}  {(agent.__doc__ or '').partition(chr(10))[0]}".rstrip())

    @found.command()
    def tables() -> None:
        """List the tables."""
        for table in app.tables.values():
            typer.echo(f"{table.name}  {app.id}-{table.name}-changelog")

    for name, function in app.jobs.commands.items():
        found.command(name)(_runnable(app, function))
    return found


def _topic(app: Declared, to: str) -> Any:
    if not to.startswith("@"):
        known = [topic for topic in app.topics if topic.names == (to,)]
        return known[0] if known else app.topic(to)
    if to[1:] not in app.agents:
        raise ArgumentError(f"there is no agent '{to[1:]}'", detail=f"there are {', '.join(app.agents) or 'none'}")
    return app.agents[to[1:]].topic


def _value(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _runnable(app: Declared, function: Callable[..., Any]) -> Callable[..., None]:
    """A command that may send and ask; coroutine functions are run to their end."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        with Client(app, with_broker(app.conf.streams)):
            answer = function(*arguments, **options)
            if inspect.isawaitable(answer):
                asyncio.run(_whole(answer))

    return run


async def _whole(answer: Any) -> None:
    await answer
