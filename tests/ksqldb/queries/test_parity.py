"""Queries of ksqlDB's own tests have the same answers here as in test drivers.

The corpus is kept outside of the repository, below `MILLSTREAM_CONFORMANCE_DIR`.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from millstream.config import StreamsConfig
from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind
from millstream.ksqldb.queries import QueryDesk
from millstream.sql.conformance import qtt
from millstream.sql.conformance.case import Case, load_file
from millstream.sql.conformance.world import World
from millstream.sql.engine.answers.entities import QueryAnswer
from millstream.sql.engine.runners.driver_queries import DriverQueries

from ...hosting.transient.memory import MemoryAccess
from .clients import Client

HERE = Path(__file__).parent
DIRECTORY = Path(os.environ.get("MILLSTREAM_CONFORMANCE_DIR") or HERE.parents[3] / "shared" / "conformance") / "ksql"
FILES = sorted(file for file in DIRECTORY.glob("dev/*.json") if "push" in file.stem or "stream" in file.stem)
CONFIG = StreamsConfig(application_id="tests", bootstrap_servers="localhost:1")

needs_the_corpus = pytest.mark.skipif(not FILES, reason=f"no cases below {DIRECTORY} (set MILLSTREAM_CONFORMANCE_DIR)")


def is_query(text: str) -> bool:
    return text.lstrip().upper().startswith("SELECT")


def prepared(case: Case) -> World | None:
    """The case before its queries; None if it is about statements that fail."""
    world = World(case, DriverQueries)
    try:
        for text in case.statements:
            if not is_query(text):
                world.engine.execute(text)
        for record in qtt.inputs(case, world):
            world.topics.write(record)
    except MillstreamError:
        world.close()
        return None
    return world


def copied(world: World) -> MemoryAccess:
    """What its topics hold."""
    access = MemoryAccess(dict.fromkeys(world.topics.names(), 1))
    for name in world.topics.names():
        access.logs[name, 0] = [
            (record.key, record.value, record.timestamp, list(record.headers) or None, record.offset)
            for record in world.topics.read(name, from_beginning=True)
        ]
    return access


def answered(desk: QueryDesk, world: World, text: str, count: int) -> QueryAnswer:
    """What the desk answers: so many rows of a query that has no end."""
    settings = world.engine.context.settings.with_override("auto.offset.reset", "earliest")
    client = Client(desk.answer(dataclasses.replace(world.engine.context, settings=settings), text))
    client.wait_for(count)
    end = client.answer.end
    message = (
        "Query Completed" if end is None and client.answer.kind is AnswerKind.PUSH else client.wait_for_end().message
    )
    client.answer.close()
    return QueryAnswer(
        statement_text=text,
        columns=tuple(client.answer.columns),
        rows=tuple(row.values for row in client.rows),
        tombstones=frozenset(at for at, row in enumerate(client.rows) if row.is_tombstone),
        final_message=message,
    )


@needs_the_corpus
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_file(file: Path) -> None:
    for case in load_file(file):
        world = prepared(case) if any(map(is_query, case.statements)) else None
        if world is None:
            continue
        desk = QueryDesk(CONFIG, access=copied(world))
        for text in filter(is_query, case.statements):
            if case.expected_exception is not None:
                with pytest.raises(MillstreamError):
                    answered(desk, world, text, 0)
                continue
            (expected,) = world.engine.execute(text)
            assert isinstance(expected, QueryAnswer)
            assert answered(desk, world, text, len(expected.rows)) == expected, case.id
        desk.stop()
        world.close()
