"""Runs statements that may be anything. `bench/sql_fuzz.py` runs many, `test_fuzz.py` a few."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.engine.queries import Queries
from millstream.sql.engine.runners.driver_queries import DriverQueries
from millstream.sql.engine.topics import InMemoryTopics, TopicDescription
from millstream.sql.errors import SqlError
from millstream.sql.formats import InMemoryRegistry
from millstream.sql.functions.registry import Registry, default_registry
from millstream.sql.parser import parse
from millstream.sql.settings import Settings

from .statements import BASE

VARIABLES = {"topic": "t"}


def parser() -> Callable[[str], object]:
    """Parses statements."""
    return lambda statement: parse(statement, variables=VARIABLES, tests=True)


def engine() -> Callable[[str], object]:
    """Executes statements, each in an engine that knows the sources they are about, and little more."""
    functions = default_registry()
    used: list[Engine] = []

    def execute(statement: str) -> object:
        if "ASSERT" in statement.upper():
            return parse(statement, variables=VARIABLES)  # it would wait for what it asserts, as long as it says
        if not used:
            used.append(_new_engine(functions))
        sources = dict(used[0].context.catalogue.sources)
        try:
            return used[0].execute(statement)
        finally:
            # What it made, or set, would make others fail.
            if used[0].context.catalogue.sources != sources or "SET" in statement.upper():
                used.pop().context.queries.runner.close()

    return execute


def _new_engine(functions: Registry) -> Engine:
    topics = InMemoryTopics(TopicDescription)
    context = Context(
        functions=functions,
        topics=topics,
        queries=Queries(DriverQueries(topics)),
        settings=Settings({"ksql.service.id": "fuzz", "ksql.headers.columns.enabled": True}),
        registry=InMemoryRegistry(),
        variables=dict(VARIABLES),
    )
    made = Engine(context)
    made.execute(BASE)
    return made


class _Hang(BaseException):
    pass


@dataclass
class Report:
    """What became of the statements.

    Attributes:
        done: how many gave a result.
        refused: how many gave an error that says what is wrong with the statement.
        wrong: the statements that gave anything else, and what that was.
    """

    done: int = 0
    refused: int = 0
    wrong: list[tuple[str, str]] = field(default_factory=list)


def fuzz(run: Callable[[str], object], statements: Iterator[str], *, patience: float = 10.0) -> Report:
    """Runs statements; each has to give a result or an `SqlError`, and that soon.

    Args:
        run: executes a statement.
        statements: the statements.
        patience: how many seconds one may take.
    """

    def give_up(number: int, frame: FrameType | None) -> None:
        raise _Hang

    report = Report()
    before = signal.signal(signal.SIGALRM, give_up)
    try:
        for statement in statements:
            signal.setitimer(signal.ITIMER_REAL, patience)
            try:
                run(statement)
                report.done += 1
            except SqlError as error:
                if error.primary:
                    report.refused += 1
                else:
                    report.wrong.append((statement, "an error without a message"))
            except _Hang:
                report.wrong.append((statement, f"no result after {patience} s"))
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
                report.wrong.append((statement, f"{type(error).__name__} in {where}: {error}"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return report
