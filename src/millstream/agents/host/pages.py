"""Pages: functions that answer HTTP requests, in the process that was started."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route, Router

from millstream.agents.declared import Declared
from millstream.agents.tables import Table
from millstream.agents.typed import dump_json
from millstream.server.listening import Listener
from millstream.server.problems import Problem
from millstream.server.running import HttpServer
from millstream.server.settings import ServerSettings

#: Faust's way to name a part of a path, `/count/{word}/`, is Starlette's too; aiohttp's `{word:[a-z]+}` is not.
_PATTERN = re.compile(r"\{(\w+):[^}]*\}")


class Web:
    """What a page makes its answer with."""

    def json(self, value: Any, *, status: int = 200) -> Response:
        """An answer of JSON."""
        return Response(dump_json(value), status, media_type="application/json")

    def text(self, value: str, *, status: int = 200) -> Response:
        """An answer of plain text."""
        return PlainTextResponse(value, status)

    def html(self, value: str, *, status: int = 200) -> Response:
        """An answer of HTML."""
        return HTMLResponse(value, status)

    def notfound(self, reason: str = "not found") -> Response:
        """There is no such thing."""
        return self.json({"error": reason}, status=404)


class Pages:
    """Serves the pages of an application, and rows of its tables under `/table/<name>/<key>/`."""

    def __init__(self, app: Declared) -> None:
        settings = ServerSettings(app.conf.web_host, app.conf.web_port)
        web = Web()
        routes = [
            Route(_PATTERN.sub(r"{\1}", page.path), _endpoint(web, page.function), methods=["GET", "POST"])
            for page in app.jobs.pages
        ]
        routes.append(Route("/table/{name}/{key}/", _row_of(app, web)))
        self._listener = Listener(settings)
        self._server = HttpServer(Router(routes), self._listener, settings)

    @property
    def url(self) -> str:
        """Where they are."""
        return self._listener.url

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.close()


def _endpoint(web: Web, function: Callable[..., Any]) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        found: Response = await function(web, request, **request.path_params)
        return found

    return answer


def _row_of(app: Declared, web: Web) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        table: Table | Any = app.tables.get(request.path_params["name"])
        if table is None:
            raise Problem(404, "UnknownTable", f"there is no table '{request.path_params['name']}'")
        key = request.path_params["key"]
        value = await asyncio.to_thread(table.get, key)
        return web.json({"key": key, "value": value}) if value is not None else web.notfound(f"no key {key!r}")

    return answer
