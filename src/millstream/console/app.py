"""The console as an application around a server's REST: its pages, and what they ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from millstream.console.explaining import explained
from millstream.console.files import PAGE, SECURITY_HEADERS, page_response, static_files
from millstream.console.lanes import lanes_json
from millstream.console.letters import DeadLetters, Letter
from millstream.console.looking import KafkaLooking, Looking
from millstream.console.names import dependents_json, sources_json
from millstream.console.overview import Lanes, Overview
from millstream.console.topics import groups_json, produce, records_json, topic_json, topics_json
from millstream.console.topology import topology_json
from millstream.ksqldb.api import Service
from millstream.ksqldb.server import ServerParts
from millstream.server.authentication import Asker
from millstream.server.guard import ASKER, Application, Receive, Scope, Send
from millstream.server.problems import BadRequest, Problem
from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads
from millstream.sql.engine.context import Context

_API = f"{PAGE}/api"
_HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store"}
#: How many records are shown unless more are asked for.
_FEW = 50

Handler = Callable[[Request], Awaitable[Response]]


class ConsoleApp:
    """An ASGI application: `/console` is answered here, all else by another.

    Args:
        other: who answers all else.
        service: what the server is.
        context: the state of its engine.
        lanes: where its queries run.
        looking: asks Kafka.
        name: what the service is called in Kafka.
        settings: limits.
    """

    def __init__(
        self,
        other: Application,
        service: Service,
        context: Callable[[], Context],
        lanes: Lanes,
        looking: Looking,
        name: str,
        settings: ServerSettings,
    ) -> None:
        self._other = other
        self._service = service
        self._context = context
        self._lanes = lanes
        self._looking = looking
        self._name = name
        self._threads = Threads("millstream-console", settings)
        self._files = static_files()
        self.overview = Overview(context, lanes, looking)
        self._letters = DeadLetters(looking, context, name)
        gets: dict[str, Callable[[Request], Any]] = {
            "/session": self._session,
            "/overview": self._overview,
            "/topology/{query}": self._topology,
            "/explain": self._explain,
            "/names": self._names,
            "/dependents": self._dependents,
            "/topics": lambda request: topics_json(self._looking, self._name),
            "/topics/{topic}": lambda request: topic_json(self._looking, request.path_params["topic"]),
            "/topics/{topic}/groups": lambda request: groups_json(self._looking, request.path_params["topic"]),
            "/topics/{topic}/records": self._records,
            "/letters": lambda request: self._letters.likely_topics(),
            "/letters/{topic}": lambda request: self._letters.letters(request.path_params["topic"]),
            "/letters/{topic}/{partition:int}/{offset:int}": self._letter,
            "/lanes": lambda request: lanes_json(self._lanes, self._looking, self._name),
        }
        posts: dict[str, Callable[[Request, Any], Any]] = {
            "/topics/{topic}/records": self._produce,
            "/letters/{topic}/replay": self._replay,
            "/letters/{topic}/done": lambda request, given: self._mark(request, given, done=True),
            "/letters/{topic}/open": lambda request, given: self._mark(request, given, done=False),
        }
        routes = [Route(_API + path, self._looked(answer), methods=["GET"]) for path, answer in gets.items()]
        routes += [Route(_API + path, self._changed(answer), methods=["POST"]) for path, answer in posts.items()]
        self._router = Router(routes, redirect_slashes=False)

    @property
    def open_paths(self) -> Iterable[str]:
        """The pages: they ask who is there, and hold nothing themselves."""
        return self._files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        path = scope["path"]
        if scope["type"] != "http" or (path != PAGE and not path.startswith(f"{PAGE}/")):
            await self._other(scope, receive, send)
        elif (file := self._files.get(path)) is not None:
            await page_response(scope, file)(scope, receive, send)
        else:
            scope["app"] = self  # so that the router raises what it refuses
            await self._router(scope, receive, send)

    def close(self) -> None:
        """Take no more requests, and leave the brokers."""
        self.overview.close()
        self._threads.close()
        self._looking.close()

    # --- how requests are answered

    def _looked(self, answer: Callable[[Request], Any]) -> Handler:
        async def handler(request: Request) -> Response:
            return _json(await self._threads.run(lambda: answer(request)))

        return handler

    def _changed(self, answer: Callable[[Request, Any], Any]) -> Handler:
        async def handler(request: Request) -> Response:
            if not _asker(request).may_change:
                raise Problem(403, "ReadOnly", "you may look, and change nothing")
            # A form of another page cannot send this type, whatever its browser says of where it is from.
            if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                raise Problem(415, "NotJson", "the body must be JSON", hint="send content-type: application/json")
            try:
                given = msgspec.json.decode(await request.body())
            except msgspec.DecodeError as error:
                raise BadRequest("the body is no JSON", detail=str(error)) from error
            return _json(await self._threads.run(lambda: answer(request, given)))

        return handler

    # --- answers

    def _session(self, request: Request) -> Any:
        asker = _asker(request)
        info = self._service.info()
        return {
            "user": asker.name,
            "mayChange": asker.may_change,
            "version": info.version,
            "service": info.service_id,
            "cluster": info.kafka_cluster_id,
            "status": info.status.value,
            "state": self._service.state.value,
        }

    def _overview(self, request: Request) -> Any:
        context = self._context()
        return {
            "state": self._service.state.value,
            "queries": self.overview.queries(),
            "history": self.overview.history(),
            "lanes": len(self._lanes.lanes),
            "pushQueries": [{"id": query.id, "sql": query.sql} for query in context.push_queries()],
            "sources": len(context.catalogue.sources),
        }

    def _topology(self, request: Request) -> Any:
        query = self._context().queries.get(request.path_params["query"])
        if query is None:
            raise Problem(404, "UnknownQuery", f"there is no query {request.path_params['query']}")
        figures = self._lanes.told().get(query.id, {})
        return {**topology_json(query), "figures": figures, "lags": self.overview.lags().get(query.id, {})}

    def _explain(self, request: Request) -> Any:
        query = explained(self._context(), request.query_params.get("sql", ""))
        return {**topology_json(query), "figures": {}, "lags": {}}

    def _names(self, request: Request) -> Any:
        context = self._context()
        return {"sources": sources_json(context), "queries": [query.id for query in list(context.queries)]}

    def _dependents(self, request: Request) -> Any:
        return dependents_json(self._context(), request.query_params.get("name", ""))

    def _records(self, request: Request) -> Any:
        count = _number(request, "count")
        return records_json(
            self._looking,
            request.path_params["topic"],
            self._context().registry,
            partition=_number(request, "partition"),
            offset=_number(request, "offset"),
            count=_FEW if count is None else count,
        )

    def _letter(self, request: Request) -> Any:
        return self._letters.letter(**request.path_params)

    def _produce(self, request: Request, given: Any) -> Any:
        produce(self._context().topics, request.path_params["topic"], given)
        return {"written": 1}

    def _replay(self, request: Request, given: Any) -> Any:
        count = self._letters.replay(request.path_params["topic"], _letters(given), _asker(request).name)
        return {"replayed": count}

    def _mark(self, request: Request, given: Any, *, done: bool) -> Any:
        count = self._letters.mark(request.path_params["topic"], _letters(given), _asker(request).name, done=done)
        return {"marked": count}


class Console(ConsoleApp):
    """The console around a server, see `KsqlServer`.

    Args:
        parts: the server's.
    """

    def __init__(self, parts: ServerParts) -> None:
        super().__init__(
            parts.rest,
            parts.service,
            lambda: parts.service.context,
            parts.lanes,
            KafkaLooking(parts.config),
            parts.config.application_id,
            parts.http,
        )
        self.overview.start()


def _asker(request: Request) -> Asker:
    found = request.scope.get(ASKER)
    return found if isinstance(found, Asker) else Asker()


def _number(request: Request, name: str) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        raise BadRequest(f"{name} is a number", detail=f"it is {text!r}")
    return int(text)


def _letters(given: Any) -> list[Letter]:
    try:
        return msgspec.convert(given["letters"], list[Letter])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise BadRequest(
            "the body names letters", detail=str(error), hint='{"letters": [{"partition": 0, "offset": 5}]}'
        ) from error


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json", headers=_HEADERS)
