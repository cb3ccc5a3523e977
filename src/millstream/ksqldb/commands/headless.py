"""Statements of a file, executed when a server starts: it has no command topic, and takes no others."""

from __future__ import annotations

from millstream.errors import MillstreamError
from millstream.ksqldb.api import ServiceError
from millstream.ksqldb.commands.errors import service_error
from millstream.ksqldb.commands.execution.sandbox import sandbox
from millstream.ksqldb.commands.session import Session
from millstream.sql.engine.context import Context
from millstream.sql.engine.engine import Engine
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.parser import statements as split
from millstream.sql.tree import statements as tree

_ALLOWED = (
    tree.SetProperty,
    tree.UnsetProperty,
    tree.CreateSource,
    tree.CreateAsSelect,
    tree.InsertInto,
    tree.CreateType,
)


def execute_file(context: Context, text: str) -> None:
    """Execute the statements of a file, after all of them were tried.

    Args:
        context: what they change.
        text: what the file holds.

    Raises:
        ServiceError: one of them cannot be executed.
    """
    try:
        texts = list(split(text))
    except SqlError as error:
        raise service_error(error, text) from error
    if not texts:
        raise ServiceError(40000, "the queries file has no statements")
    for state in (sandbox(context), context):
        session = Session(context.settings)
        for one in texts:
            engine = Engine(session.context(state))
            try:
                _execute(engine, one)
            except MillstreamError as error:
                raise service_error(error, one) from error
            session.take(engine.context)


def _execute(engine: Engine, text: str) -> None:
    parsed = engine.parse(text)
    if not isinstance(parsed.statement, _ALLOWED):
        raise StatementError(
            "Ignoring statements: only SET, UNSET, CREATE and INSERT INTO .. SELECT can be in a queries file",
            statement=parsed.text,
        )
    engine.execute_parsed(parsed)
