"""What queries may do, each kind for itself."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.sql.analysis.query.analyse import Analysis
from millstream.sql.analysis.wording import PULL_HELP
from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import PSEUDO_COLUMNS, ROWOFFSET, ROWPARTITION
from millstream.sql.schema.types import quote
from millstream.sql.settings import Settings
from millstream.sql.tree.expressions import Expression
from millstream.sql.tree.queries import SingleColumn
from millstream.sql.tree.statements import SourceKind
from millstream.sql.tree.walk import references


def check_persistent(analysis: Analysis) -> None:
    """See that a query can be persistent.

    Raises:
        SqlError: it cannot.
    """
    if any(source.source.kind is SourceKind.TABLE and source.source.window for source in analysis.sources):
        raise SqlError("KSQL does not support persistent queries on windowed tables.")
    if analysis.query.limit is not None:
        raise SqlError("INSERT INTO statements don't support LIMIT clause.")
    check_continuous(analysis)


def check_continuous(analysis: Analysis) -> None:
    """See that a query can run on and on."""
    _check_names(analysis)
    _check_table_functions(analysis)


def check_pull(analysis: Analysis, settings: Settings) -> None:
    """See that a query can be answered from what is there.

    Raises:
        SqlError: it cannot.
    """
    query = analysis.query
    clauses = {
        "JOIN": query.joins,
        "WINDOW": query.window,
        "GROUP BY": analysis.group_by,
        "PARTITION BY": query.partition_by,
        "HAVING": query.having,
    }
    for clause, written in clauses.items():
        if written:
            raise SqlError(f"Pull queries don't support {clause} clauses.{PULL_HELP}")
    _check_pull_limit(query.limit, settings)
    selected = [item.expression for item in query.select if isinstance(item, SingleColumn)]
    _check_pull_columns(selected, "SELECT")
    _check_pull_columns([query.where] if query.where is not None else [], "WHERE")
    check_continuous(analysis)


def _check_pull_limit(limit: int | None, settings: Settings) -> None:
    if limit is None:
        return
    if not settings.get("ksql.query.pull.limit.clause.enabled", True):
        raise SqlError(
            "LIMIT clause in pull queries is currently disabled. You can enable them by setting "
            f"ksql.query.pull.limit.clause.enabled=true.{PULL_HELP}"
        )
    if limit < 0:
        raise SqlError(f"Pull queries don't support negative integers in the LIMIT clause.{PULL_HELP}")


def _check_pull_columns(expressions: Iterable[Expression], clause: str) -> None:
    used = [column.name for expression in expressions for column in references(expression)]
    refused = [quote(name) for name in used if name in (ROWPARTITION, ROWOFFSET)]
    if refused:
        raise SqlError(
            f"Pull queries don't support the following columns in {clause} clauses: {', '.join(refused)}\n{PULL_HELP}"
        )


def _check_names(analysis: Analysis) -> None:
    names = [
        quote(column.name)
        for source in analysis.sources
        for column in source.source.schema.value
        if column.name in PSEUDO_COLUMNS
    ]
    if names:
        raise SqlError(
            "Your stream/table has columns with the same name as newly introduced pseudocolumns in ksqlDB, and cannot "
            f"be queried as a result. The conflicting names are: {', '.join(names)}.\n"
        )


def _check_table_functions(analysis: Analysis) -> None:
    if analysis.table_functions and analysis.first.source.kind is SourceKind.TABLE:
        raise SqlError("Table source is not supported with table functions")
