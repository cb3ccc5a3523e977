"""The paths of views: each turns a request into a question, and an answer into JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router

from millstream.errors import MillstreamError, OversizedScan
from millstream.server.guard import Message, Receive, Scope, Send
from millstream.server.problems import BadRequest, Problem, problem_of
from millstream.server.settings import ServerSettings
from millstream.server.views import rendering
from millstream.server.views.answering import Answering
from millstream.server.views.documentation import description, page
from millstream.server.views.internal import PATH as INTERNAL_PATH
from millstream.server.views.internal import InternalQuestions
from millstream.server.views.keys import key_of, prefix_of
from millstream.server.views.parameters import Parameters, text_of_path
from millstream.server.views.quick import QuickKeys
from millstream.views.answers import Answer
from millstream.views.api import Views
from millstream.views.queries import (
    CountQuery,
    KeyQuery,
    KeysQuery,
    PrefixQuery,
    Query,
    RangeQuery,
    Requirements,
    SessionKeyQuery,
    SessionRangeQuery,
    VersionedKeyQuery,
    VersionsQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)

#: Paths that tell nothing of any store: for probes and for people with a browser.
OPEN_PATHS = ("/health", "/health/ready", "/openapi.json", "/docs")

NDJSON = "application/x-ndjson"
_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class ViewsApp:
    """An ASGI application that answers questions to views.

    Args:
        views: who knows.
        application_id: the application whose views these are.
        settings: limits.
    """

    def __init__(self, views: Views, application_id: str, settings: ServerSettings) -> None:
        self._views = views
        self._application_id = application_id
        self._settings = settings
        self._answering = Answering(views, settings)
        self._quick = QuickKeys(views)
        self._internal = InternalQuestions(views, application_id, self._answering)
        handlers: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/stores/{store}/keys/{key:path}": self._key,
            "/stores/{store}/keys": self._keys,
            "/stores/{store}/windows/{key:path}": self._windows_of_key,
            "/stores/{store}/windows": self._windows,
            "/stores/{store}/sessions/{key:path}": self._sessions_of_key,
            "/stores/{store}/sessions": self._sessions,
            "/stores/{store}/versions/{key:path}": self._versions,
            "/stores/{store}/count": self._count,
            "/stores/{store}": self._store,
            "/stores": self._stores,
            "/metadata": self._metadata,
            "/metadata/lags": self._lags,
            "/metadata/instances/{instance:path}": self._instance,
            "/metadata/stores/{store}": self._store_metadata,
            "/metadata/stores/{store}/keys/{key:path}": self._key_metadata,
            "/health": self._health,
            "/health/ready": self._ready,
            "/openapi.json": self._openapi,
            "/docs": self._docs,
        }
        routes = [Route(path, handler, methods=["GET"]) for path, handler in handlers.items()]
        routes.append(Route(INTERNAL_PATH, self._internal.answer, methods=["GET", "POST"]))
        self._router = Router(routes, redirect_slashes=False, default=_nothing_there)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        scope["app"] = self  # so that the router raises what it refuses
        await self._router(scope, receive, send)

    def at_once(self, scope: Scope) -> Iterable[Message] | None:
        """Answer the commonest questions, on a shorter way: see `Guard`."""
        return self._quick.answer(scope) or self._internal.at_once(scope)

    def close(self) -> None:
        """Take no more questions."""
        self._answering.close()

    # --- key-value and versioned stores

    async def _key(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "as_of")
        key, as_of = self._key_of(request), given.time("as_of")
        query: Query
        if as_of is None:
            query = KeyQuery(key)
        else:
            query = VersionedKeyQuery(key, as_of)
        answer = await self._answering.ask(store, query, given.requirements())
        if not answer.rows:
            raise Problem(
                404,
                "KeyNotFound",
                f"store '{store}' has no such key",
                hint="the key may come: see how far the answer is behind (lag)",
                more={"store": store, **rendering.standing(answer)},
            )
        return _json({"store": store, **rendering.row(answer.rows[0]), **rendering.standing(answer)})

    async def _keys(self, request: Request) -> Response:
        store = _store_of(request)
        given = _parameters(request, "from", "to", "prefix", "reverse", repeated=("key",))
        serde, keys = self._views.key_serde(store), given.texts("key")
        kinds = [bool(keys), given.has("from", "to"), given.has("prefix")]
        if sum(kinds) > 1:
            raise BadRequest("keys, a range and a prefix cannot be asked for at once", hint="ask for one of them")
        query: Query
        if keys:
            query = KeysQuery(tuple(key_of(key, serde) for key in keys))
        elif given.has("prefix"):
            if given.flag("reverse"):
                raise BadRequest("keys of a prefix cannot be asked for in reverse", hint="ask for a range")
            query = PrefixQuery(prefix_of(given.text("prefix") or "", serde))
        else:
            query = RangeQuery(*self._key_bounds(store, given, "from", "to"), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    async def _count(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request)
        answer = await self._answering.ask(store, CountQuery(), given.requirements())
        return _json({"store": store, "count": answer.count, **rendering.standing(answer)})

    async def _versions(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "from", "to", "reverse")
        given.times()  # in their order
        query = VersionsQuery(self._key_of(request), given.time("from"), given.time("to"), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    # --- window and session stores

    async def _windows_of_key(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "from", "to", "reverse")
        query = WindowKeyQuery(self._key_of(request), *given.times(), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    async def _windows(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "from", "to", "from_key", "to_key", "reverse")
        bounds = self._key_bounds(store, given, "from_key", "to_key")
        query = WindowRangeQuery(*bounds, *given.times(), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    async def _sessions_of_key(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "from", "to", "reverse")
        query = SessionKeyQuery(self._key_of(request), *given.times(), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    async def _sessions(self, request: Request) -> Response:
        store, given = _store_of(request), _parameters(request, "from_key", "to_key", "reverse")
        query = SessionRangeQuery(*self._key_bounds(store, given, "from_key", "to_key"), given.flag("reverse"))
        return await self._rows(request, store, query, given)

    # --- what there is

    async def _stores(self, request: Request) -> Response:
        _parameters(request)
        return _json({"stores": [rendering.store(store) for store in self._views.stores().values()]})

    async def _store(self, request: Request) -> Response:
        _parameters(request)
        store = _store_of(request)
        key, value = self._views.key_serde(store), self._views.value_serde(store)
        return _json({**rendering.store(self._views.stores()[store]), "key_serde": key.name, "value_serde": value.name})

    async def _metadata(self, request: Request) -> Response:
        _parameters(request)
        return _json(
            {
                "application_id": self._application_id,
                "instance": rendering.instance(self._views.instance),
                "instances": [rendering.instance(instance) for instance in self._views.instances()],
            }
        )

    async def _lags(self, request: Request) -> Response:
        _parameters(request)
        found = await self._answering.in_thread(self._views.local_partition_lags)
        return _json(
            {
                "instance": rendering.instance(self._views.instance),
                "stores": {store: rendering.lags(lags) for store, lags in found.items()},
            }
        )

    async def _instance(self, request: Request) -> Response:
        _parameters(request)
        wanted, instances = _last_part(request), self._views.instances()
        found = next((instance for instance in instances if instance.id == wanted), None)
        if found is None:
            raise Problem(
                404,
                "UnknownInstance",
                f"there is no instance {wanted[:80]!r}",
                detail=f"there are {', '.join(instance.id for instance in instances) or 'none'}",
                hint="GET /metadata lists them",
            )
        stores = {
            name: rendering.store_metadata(has)
            for name in self._views.stores()
            for has in self._views.metadata_for_store(name)
            if has.instance.id == wanted
        }
        return _json({**rendering.instance(found), "stores": stores})

    async def _store_metadata(self, request: Request) -> Response:
        _parameters(request)
        store = _store_of(request)
        return _json(
            {"store": store, "instances": list(map(rendering.store_metadata, self._views.metadata_for_store(store)))}
        )

    async def _key_metadata(self, request: Request) -> Response:
        _parameters(request)
        store = _store_of(request)
        found = self._views.metadata_for_key(store, self._key_of(request))
        return _json({"store": store, **rendering.key_metadata(found)})

    # --- about the server

    async def _health(self, request: Request) -> Response:
        return _json({"status": "up"})

    async def _ready(self, request: Request) -> Response:
        if self._views.is_ready():
            return _json({"status": "ready"})
        raise Problem(
            503,
            "NotReady",
            "not every partition of every store can be asked",
            hint="copies are still being read, or partitions are on the move: try again",
            headers={"retry-after": "1"},
        )

    async def _openapi(self, request: Request) -> Response:
        return _json(description(self._settings))

    async def _docs(self, request: Request) -> Response:
        return Response(
            page(description(self._settings)),
            media_type="text/html",
            headers={"content-security-policy": _PAGE_POLICY},
        )

    # --- what handlers share

    def _key_of(self, request: Request) -> Any:
        return key_of(_last_part(request), self._views.key_serde(_store_of(request)))

    def _key_bounds(self, store: str, given: Parameters, low: str, high: str) -> tuple[Any, Any]:
        serde = self._views.key_serde(store)
        bounds = (given.text(low), given.text(high))
        return tuple(None if text is None else key_of(text, serde) for text in bounds)  # type: ignore[return-value]

    async def _rows(self, request: Request, store: str, query: Query, given: Parameters) -> Response:
        needs = given.requirements()
        if NDJSON in request.headers.get("accept", ""):
            return await self._streamed(store, query, needs)
        most = self._settings.max_rows
        if needs.limit is not None and needs.limit > most:
            raise _oversized(f"limit is {needs.limit}, at most {most} rows are answered at a time")
        answer = await self._answering.ask(store, query, replace(needs, limit=needs.limit or most))
        if answer.more and needs.limit is None:
            raise _oversized(f"there are more than {most} rows")
        return _json(
            {
                "store": store,
                "rows": list(map(rendering.row, answer.rows)),
                "more": answer.more,
                **rendering.standing(answer),
            }
        )

    async def _streamed(self, store: str, query: Query, needs: Requirements) -> Response:
        """The first page is waited for, so that what cannot be answered has its own status."""
        pages = self._answering.pages(store, query, needs)
        first = await anext(pages)
        return StreamingResponse(_lines(first, pages), media_type=NDJSON, headers={"cache-control": "no-store"})


async def _lines(page: Answer, pages: AsyncIterator[Answer]) -> AsyncIterator[bytes]:
    """A line for each row, and a last one that tells how far the answer is, or why it ends too early."""
    try:
        while True:
            if page.rows:
                yield b"".join(_line("row", rendering.row(row)) for row in page.rows)
            following = await anext(pages, None)
            if following is None:
                break
            page = replace(following, position=page.position.merged(following.position))
    except MillstreamError as error:
        yield _line("error", problem_of(error).body())
    else:
        yield _line("end", {"more": page.more, **rendering.standing(page)})


def _line(name: str, content: Any) -> bytes:
    return rendering.encode({name: content}) + b"\n"


async def _nothing_there(scope: Scope, receive: Receive, send: Send) -> None:
    raise HTTPException(404)


def _json(content: Any) -> Response:
    body = rendering.encode(content)
    response = Response(body)
    response.raw_headers = rendering.headers(body)
    return response


def _parameters(request: Request, *known: str, repeated: tuple[str, ...] = ()) -> Parameters:
    return Parameters(request.scope["query_string"], request.headers, known, repeated)


def _store_of(request: Request) -> str:
    store: str = request.path_params["store"]
    return store


def _last_part(request: Request) -> str:
    """The rest of the path behind the last fixed part, from its bytes: those of a key must be UTF-8."""
    fixed = request.scope["path"].removesuffix(next(reversed(request.path_params.values())))
    return text_of_path(request.scope["raw_path"].split(b"/", fixed.count("/"))[-1])


def _oversized(detail: str) -> OversizedScan:
    return OversizedScan(
        "the answer would be too large",
        detail=detail,
        hint=f"give a limit, or have rows streamed with the header `Accept: {NDJSON}`",
    )
