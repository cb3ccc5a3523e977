"""A service in memory: streams of one shape, and answers that tests prepare."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from millstream.errors import MillstreamError
from millstream.ksqldb.api import (
    AnswerKind,
    End,
    Health,
    QueryFigures,
    Request,
    Row,
    ServerInfo,
    ServerState,
    ServerStatus,
    ServiceError,
)
from millstream.sql.engine.answers.entities import (
    CommandId,
    CommandStatus,
    CurrentStatus,
    Entity,
    PropertiesList,
    Property,
    SourceInfo,
    StreamsList,
)
from millstream.sql.engine.progress import QueryProgress
from millstream.sql.engine.queries import QueryState
from millstream.sql.schema.columns import Column
from millstream.sql.schema.types import INTEGER, STRING

COLUMNS = (Column("ID", INTEGER), Column("NAME", STRING))

_CREATE = re.compile(r"CREATE (STREAM|TABLE) (\w+)", re.IGNORECASE)
_INSERT = re.compile(r"INSERT INTO (\w+) .*VALUES \((\d+), '(\w*)'\)", re.IGNORECASE | re.DOTALL)
_SELECT = re.compile(r"SELECT .* FROM (\w+)(?: WHERE ID *= *(\d+))?( EMIT CHANGES)?(?: LIMIT (\d+))?", re.IGNORECASE)


class MemoryAnswer:
    """Rows that a test puts in."""

    def __init__(
        self,
        kind: AnswerKind = AnswerKind.PUSH,
        columns: Sequence[Column] = COLUMNS,
        rows: Iterable[Row | tuple[Any, ...]] = (),
        end: End | None = None,
        *,
        query_id: str = "q1",
        keys: Iterable[str] = (),
        limit: int | None = None,
    ) -> None:
        self.kind, self.columns, self.query_id, self.key_columns = kind, columns, query_id, frozenset(keys)
        self._lock = threading.Lock()
        self._rows = [row if isinstance(row, Row) else Row(row) for row in rows]
        self._end = end
        self._limit = limit
        self._wake: Callable[[], None] = lambda: None
        self.listened = threading.Event()
        self.closed = threading.Event()

    def put(self, *rows: Row | tuple[Any, ...]) -> None:
        with self._lock:
            self._rows += [row if isinstance(row, Row) else Row(row) for row in rows]
            if self._limit is not None:
                self._limit -= len(rows)
                if self._limit <= 0:
                    self._end = End("Limit Reached")
        self._wake()

    def finish(self, message: str | None = None, error: MillstreamError | None = None) -> None:
        self._end = End(message, error)
        self._wake()

    def listen(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.listened.set()
        wake()

    def take(self) -> list[Row]:
        with self._lock:
            rows, self._rows = self._rows, []
            return rows

    @property
    def end(self) -> End | None:
        with self._lock:
            return None if self._rows else self._end

    def close(self) -> None:
        self.closed.set()


class MemoryInserting:
    def __init__(self, service: MemoryService, target: str) -> None:
        self._service, self._target = service, target
        self.closed = threading.Event()

    def insert(self, row: Mapping[str, Any], done: Callable[[MillstreamError | None], None]) -> None:
        values = {name.upper(): value for name, value in row.items()}
        if not isinstance(values.get("ID"), int):
            raise ServiceError(40000, "Key field must be specified: ID")
        if values.get("NAME") == "lost":
            done(MillstreamError("the broker is away"))
            return
        if values.get("NAME") == "bug":
            raise RuntimeError("secret")
        self._service.insert(self._target, (values["ID"], values.get("NAME")))
        if values.get("NAME") == "late":
            threading.Timer(0.1, done, (None,)).start()
        else:
            done(None)

    def close(self) -> None:
        self.closed.set()


class MemoryService:
    """Knows `CREATE STREAM x`, `INSERT INTO x .. VALUES (1, 'a')`, `SELECT .. FROM x`, and what it is told to know."""

    def __init__(self) -> None:
        self.state = ServerState.READY
        self.requests: list[Request] = []
        self.streams: dict[str, list[tuple[Any, ...]]] = {}
        #: What statements answer; errors are raised.
        self.answers: dict[str, MemoryAnswer | Exception] = {}
        self.entities: dict[str, list[Entity] | Exception] = {}
        self.running: dict[str, tuple[str, MemoryAnswer]] = {}
        self.insertings: list[MemoryInserting] = []
        self.terminated_with: Sequence[str] | None = None
        self.health_asked = 0

    def persistent_queries(self) -> list[QueryFigures]:
        return [QueryFigures("CTAS_C_1", QueryState.ERROR, QueryProgress(processed=7, dropped=2, lag=3))]

    def insert(self, name: str, row: tuple[Any, ...]) -> None:
        self.streams[name].append(row)
        for target, answer in tuple(self.running.values()):
            if target == name:
                answer.put(row)

    def execute(self, request: Request) -> list[Entity]:
        self.requests.append(request)
        found: list[Entity] = []
        for statement in filter(None, map(str.strip, request.sql.split(";"))):
            found += self._execute(f"{statement};")
        return found

    def _execute(self, sql: str) -> list[Entity]:
        prepared = self.entities.get(sql)
        if isinstance(prepared, Exception):
            raise prepared
        if prepared is not None:
            return prepared
        if match := _CREATE.match(sql):
            kind, name = match[1].lower(), match[2].upper()
            self.streams[name] = []
            status = CommandStatus(f"{match[1].capitalize()} created", query_id=None)
            return [
                CurrentStatus(
                    statement_text=sql,
                    command_id=CommandId(kind, f"`{name}`", "create"),
                    command_status=status,
                    command_sequence_number=len(self.streams),
                )
            ]
        if match := _INSERT.match(sql):
            self.insert(match[1].upper(), (int(match[2]), match[3]))
            return []
        if sql.upper().startswith(("LIST STREAMS", "SHOW STREAMS")):
            listed = tuple(SourceInfo("STREAM", name, name.lower(), "KAFKA", "JSON", False) for name in self.streams)
            return [StreamsList(statement_text=sql, streams=listed)]
        if sql.upper().startswith("SHOW PROPERTIES"):
            return [PropertiesList(statement_text=sql, properties=(Property("ksql.x", "KSQL", "1", True, "SERVER"),))]
        if sql.upper().startswith(("SELECT", "PRINT")):
            raise ServiceError(
                40002, "The following statement types should be issued to the query endpoint", statement=sql
            )
        raise ServiceError(40001, f"line 1:1: Syntax error: {sql}", statement=sql)

    def query(self, request: Request) -> MemoryAnswer:
        self.requests.append(request)
        prepared = self.answers.get(request.sql.rstrip(";"))
        if isinstance(prepared, Exception):
            raise prepared
        if prepared is not None:
            return prepared
        match = _SELECT.match(request.sql)
        if match is None or match[1].upper() not in self.streams:
            raise ServiceError(40001, "line 1:1: Syntax error", statement=request.sql)
        name, wanted, is_push = match[1].upper(), match[2], match[3]
        rows = [row for row in self.streams[name] if wanted is None or row[0] == int(wanted)]
        if is_push is None:
            return MemoryAnswer(AnswerKind.TABLE_PULL, rows=rows, end=End(), keys=("ID",), query_id="pull")
        answer = MemoryAnswer(query_id=f"push_{len(self.running)}", limit=int(match[4]) if match[4] else None)
        self.running[answer.query_id] = (name, answer)
        if rows and request.properties.get("auto.offset.reset") == "earliest":
            answer.put(*rows)
        return answer

    def close_query(self, query_id: str) -> bool:
        _, answer = self.running.pop(query_id, (None, None))
        if answer is not None:
            answer.finish()
        return answer is not None

    def insert_into(self, target: str, properties: Mapping[str, Any]) -> MemoryInserting:
        if target.upper() not in self.streams:
            raise ServiceError(40001, f"Cannot insert values into an unknown stream/table: {target}")
        self.insertings.append(MemoryInserting(self, target.upper()))
        return self.insertings[-1]

    def status_of(self, command_id: str) -> CommandStatus | None:
        return CommandStatus("Stream created", query_id="CSAS_1") if command_id == "stream/`S`/create" else None

    def statuses(self) -> Mapping[str, str]:
        return {"stream/`S`/create": "SUCCESS"}

    def is_property(self, name: str) -> bool:
        return name == "auto.offset.reset"

    def info(self) -> ServerInfo:
        return ServerInfo("0.29.0", "cluster", "default_", ServerStatus.RUNNING)

    def health(self) -> Health:
        self.health_asked += 1
        return Health(metastore=True, kafka=False, command_runner=True)

    def terminate(self, delete_topics: Sequence[str]) -> list[Entity]:
        if "[" in delete_topics:
            raise ServiceError(40000, "Invalid pattern: [")
        self.terminated_with = delete_topics
        self.state = ServerState.TERMINATING
        return []
