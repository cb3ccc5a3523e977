"""The paths of ksqlDB's REST protocol: each makes a question to the service of a request, and JSON of its answer."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router

from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind, Health, Request, ServerState, Service, ServiceError
from millstream.ksqldb.rest import negotiation
from millstream.ksqldb.rest.bodies import CloseQuery, Query, Statements, Terminate, read
from millstream.ksqldb.rest.documentation import description
from millstream.ksqldb.rest.errors import (
    BAD_REQUEST,
    BAD_STATEMENT,
    FORBIDDEN,
    HTTP2_ONLY,
    NOT_FOUND,
    STARTING,
    TERMINATED,
    TERMINATING,
    PlainRefusal,
    Refusal,
    message_of,
    not_found,
    refusal_of,
)
from millstream.ksqldb.rest.formats import format_of
from millstream.ksqldb.rest.formats.format import Format
from millstream.ksqldb.rest.formats.printed import PrintedFormat
from millstream.ksqldb.rest.inserts import InsertedRows
from millstream.ksqldb.rest.metrics import MEDIA_TYPE as METRICS_TYPE
from millstream.ksqldb.rest.metrics import Metrics
from millstream.ksqldb.rest.negotiation import DELIMITED, JSON, V1
from millstream.ksqldb.rest.streaming import StreamedAnswer
from millstream.ksqldb.rest.taking import Taking
from millstream.ksqldb.rest.values import encode
from millstream.ksqldb.rest.websocket import answer_websocket
from millstream.server.guard import ASKER, Message, Receive, Scope, Send
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads
from millstream.sql.engine.answers.entities import Entity

_PROBES = ("/chc/ready", "/chc/live")
#: Paths that need no authentication.
OPEN_PATHS = ("/v1/metadata", "/v1/metadata/id", "/healthcheck", "/openapi.json", *_PROBES)
#: Paths whose requests have bodies without end.
STREAMED_PATHS = ("/inserts-stream",)

#: Paths that are answered in whatever state the service is.
_ALWAYS = frozenset((*_PROBES, "/openapi.json", "/metrics"))
_WEBSOCKET = "/ws/query"
_HEALTH_SECONDS = 5.0
_NOT_READY = {
    ServerState.INITIALIZING: (STARTING, "KSQL is not yet ready to serve requests."),
    ServerState.TERMINATING: (TERMINATING, "The server is shutting down"),
    ServerState.TERMINATED: (TERMINATED, "The server is shut down"),
}

Handler = Callable[[HttpRequest], Awaitable[Response]]


class RestApp:
    """An ASGI application that speaks ksqlDB's REST protocol.

    Args:
        service: who answers.
        settings: limits.
    """

    def __init__(self, service: Service, settings: ServerSettings) -> None:
        self._service = service
        self._settings = settings
        # Statements may wait for seconds; queries do not wait behind them.
        self._statements = Threads("millstream-statements", settings)
        self._queries = Threads("millstream-queries", settings)
        self._answers: set[Taking] = set()
        self._closed = False
        self._health: tuple[float, Health] | None = None
        gets: dict[str, Handler] = {
            "/": self._root,
            "/info": self._info,
            "/healthcheck": self._healthcheck,
            "/status": self._statuses,
            "/status/{command:path}": self._status,
            "/is_valid_property/{name:path}": self._is_valid_property,
            "/clusterStatus": self._switched_off,
            "/v1/metadata": self._metadata,
            "/v1/metadata/id": self._metadata_id,
            "/chc/ready": self._probe,
            "/chc/live": self._probe,
            "/openapi.json": self._openapi,
            "/metrics": self._metrics_text,
        }
        posts: dict[str, Handler] = {
            "/ksql": self._ksql,
            "/ksql/terminate": self._terminate,
            "/query": self._query,
            "/query-stream": self._query_stream,
            "/close-query": self._close_query,
            "/inserts-stream": self._inserts_stream,
            "/heartbeat": self._switched_off,
            "/lag": self._switched_off,
        }
        self._metrics = Metrics((*gets, *posts, _WEBSOCKET), service.persistent_queries)
        routes = [Route(path, handler, methods=["GET"]) for path, handler in gets.items()]
        routes += [Route(path, handler, methods=["POST"]) for path, handler in posts.items()]
        self._router = Router(routes, redirect_slashes=False, default=_nothing_there)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.request(scope["path"], message["status"])
            await send(message)

        try:
            if scope["path"] not in _ALWAYS:
                self._check_state()
            scope["app"] = self  # so that the router raises what it refuses
            await self._router(scope, receive, counted)
        except Problem as problem:
            self._metrics.request(scope["path"], problem.status)
            raise
        except HTTPException:
            self._metrics.request(scope["path"], 404)
            raise

    def close(self) -> None:
        """Take no more requests, and end the answers that are being sent. From any thread; safe to call again."""
        self._closed = True
        for taking in tuple(self._answers):
            taking.leave_from_anywhere()
        self._statements.close()
        self._queries.close()

    # --- statements

    async def _ksql(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        asked = (await read(request, Statements, self._settings.patience)).request()
        asked = replace(asked, may_change=_may_change(request))
        return _entities(await self._told(lambda: self._service.execute(asked)))

    async def _terminate(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        _require_right(request)
        body = await read(request, Terminate, self._settings.patience)
        return _entities(await self._told(lambda: self._service.terminate(body.deleteTopicList or ())))

    async def _statuses(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        return _json({"commandStatuses": dict(await self._told(self._service.statuses))})

    async def _status(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        kind, _, rest = request.path_params["command"].partition("/")
        entity, _, action = rest.rpartition("/")
        if not (kind and entity and action):
            raise not_found()
        command = f"{kind.lower()}/{entity}/{action.lower()}"
        found = await self._told(lambda: self._service.status_of(command))
        if found is None:
            raise Refusal(NOT_FOUND, "Command not found", media_type=JSON)
        return _json({"status": found.status, "message": found.message, "queryId": found.query_id})

    async def _is_valid_property(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        name = request.path_params["name"]
        if await self._told(lambda: self._service.is_property(name)):
            return _json(True)
        raise Refusal(
            BAD_REQUEST,
            f"Not recognizable as ksql, streams, consumer, or producer property: '{name}'",
            media_type=JSON,
        )

    # --- queries

    async def _query(self, request: HttpRequest) -> Response:
        media_type = negotiation.choose(request.headers, negotiation.ROWS, V1)
        asked = (await read(request, Statements, self._settings.patience)).request()
        taking, at_end = await self._begin(asked)
        if taking.answer.kind is not AnswerKind.PRINT:
            return _streamed(taking, at_end, media_type, lambda: format_of(media_type, taking.answer, json_is_v1=True))
        if request.scope["http_version"] == "2":
            return _refused(taking, at_end, PlainRefusal(405))
        return StreamedAnswer(taking, PrintedFormat(is_older=True), "text/plain", at_end)

    async def _query_stream(self, request: HttpRequest) -> Response:
        if request.scope["http_version"] in ("1", "1.0"):
            raise Refusal(BAD_REQUEST, "This endpoint is not available over HTTP/1.0")
        media_type = negotiation.choose(request.headers, negotiation.ROWS, DELIMITED)
        asked = (await read(request, Query, self._settings.patience)).request()
        taking, at_end = await self._begin(asked)
        if taking.answer.kind is not AnswerKind.PRINT:
            return _streamed(taking, at_end, media_type, lambda: format_of(media_type, taking.answer))
        if media_type != DELIMITED:
            return _refused(taking, at_end, PlainRefusal(406))
        return StreamedAnswer(taking, PrintedFormat(is_older=False), DELIMITED, at_end)

    async def _close_query(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        _require_right(request)  # it may be another's
        query_id = (await read(request, CloseQuery, self._settings.patience)).queryId
        if await self._queries.run(lambda: self._service.close_query(query_id)):
            return Response(headers={"cache-control": "no-store"})
        raise Refusal(BAD_REQUEST, f"No query with id {query_id}")

    async def _inserts_stream(self, request: HttpRequest) -> Response:
        if request.scope["http_version"] != "2":
            raise Refusal(HTTP2_ONLY, "This endpoint is only available when using HTTP2")
        _require_right(request)
        media_type = negotiation.choose(request.headers, negotiation.ACKNOWLEDGEMENTS, DELIMITED)
        return InsertedRows(self._service, self._queries, media_type, self._settings)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != _WEBSOCKET:
            raise HTTPException(404)
        self._metrics.request(_WEBSOCKET, 101)
        await answer_websocket(scope, receive, send, self._check_state, self._begin)

    # --- about the server

    async def _root(self, request: HttpRequest) -> Response:
        return RedirectResponse("/info", 307)

    async def _info(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        found = await self._told(self._service.info)
        return _json(
            {
                "KsqlServerInfo": {
                    "version": found.version,
                    "kafkaClusterId": found.kafka_cluster_id,
                    "ksqlServiceId": found.service_id,
                    "serverStatus": found.status.value,
                }
            }
        )

    async def _healthcheck(self, request: HttpRequest) -> Response:
        """Kept for some seconds: anyone may ask, and it asks the broker."""
        _accepts_json(request)
        now = time.monotonic()
        if self._health is None or now - self._health[0] > _HEALTH_SECONDS:
            self._health = (now, await self._told(self._service.health))
        health = self._health[1]
        parts = {"metastore": health.metastore, "kafka": health.kafka, "commandRunner": health.command_runner}
        return _json(
            {
                "isHealthy": health.is_healthy,
                "details": {name: {"isHealthy": is_healthy} for name, is_healthy in parts.items()},
                "serverState": self._service.state.value,
            }
        )

    async def _metadata(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        return _json({"version": (await self._told(self._service.info)).version, "clusterId": await self._cluster()})

    async def _metadata_id(self, request: HttpRequest) -> Response:
        _accepts_json(request)
        return _json(await self._cluster())

    async def _cluster(self) -> dict[str, Any]:
        found = await self._told(self._service.info)
        clusters = {"kafka-cluster": found.kafka_cluster_id, "ksql-cluster": found.service_id}
        return {"id": "", "scope": {"path": [], "clusters": clusters}}

    async def _probe(self, request: HttpRequest) -> Response:
        return _json({})

    async def _switched_off(self, request: HttpRequest) -> Response:
        """Of servers among each other; each of ours finds what it needs in Kafka."""
        raise PlainRefusal(404)

    async def _openapi(self, request: HttpRequest) -> Response:
        return _json(description(version("millstream")))

    async def _metrics_text(self, request: HttpRequest) -> Response:
        text = await self._queries.run(self._metrics.text)
        return Response(text, headers={"content-type": METRICS_TYPE, "cache-control": "no-store"})

    # --- what handlers share

    def _check_state(self) -> None:
        state = ServerState.TERMINATING if self._closed else self._service.state
        if state is not ServerState.READY:
            raise Refusal(*_NOT_READY[state])

    async def _told(self, work: Callable[[], Any]) -> Any:
        """What the service says in a thread that may wait; what it refuses is JSON."""
        try:
            return await self._statements.run(work)
        except ServiceError as error:
            raise refusal_of(error, JSON) from error

    async def _begin(self, asked: Request) -> tuple[Taking, Callable[[], None]]:
        """Begin to answer a query; what is given back beside it must be called at its end."""
        try:
            answer = await self._queries.run(lambda: self._service.query(asked), lambda made: made.close())
        except ServiceError as error:
            raise refusal_of(error) from error
        taking = Taking(answer)
        self._answers.add(taking)
        if self._closed:
            taking.leave()
        self._metrics.answers(answer.kind.name, 1)

        def at_end() -> None:
            self._answers.discard(taking)
            self._metrics.answers(answer.kind.name, -1)

        return taking, at_end


def _streamed(taking: Taking, at_end: Callable[[], None], media_type: str, make: Callable[[], Format]) -> Response:
    try:
        return StreamedAnswer(taking, make(), media_type, at_end)
    except MillstreamError as error:  # the format cannot have such columns
        return _refused(taking, at_end, Refusal(BAD_STATEMENT, message_of(error)))


def _refused(taking: Taking, at_end: Callable[[], None], problem: Problem) -> Response:
    taking.close()
    at_end()
    raise problem


def _may_change(request: HttpRequest) -> bool:
    asker = request.scope.get(ASKER)
    return asker is None or asker.may_change


def _require_right(request: HttpRequest) -> None:
    if not _may_change(request):
        raise Refusal(FORBIDDEN, "You may look, and change nothing")


def _accepts_json(request: HttpRequest) -> None:
    negotiation.choose(request.headers, negotiation.OTHERS, JSON)


def _json(content: Mapping[str, Any] | Sequence[Any] | bool) -> Response:
    return Response(encode(content), media_type=JSON, headers={"cache-control": "no-store"})


def _entities(entities: Sequence[Entity]) -> Response:
    return _json([entity.to_json() for entity in entities])


async def _nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404)
