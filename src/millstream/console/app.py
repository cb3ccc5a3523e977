"""A console as an application around another: its pages, and how what they ask is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from millstream.console.files import PAGE, SECURITY_HEADERS, page_response, static_files
from millstream.server.authentication import Asker
from millstream.server.guard import ASKER, Application, Receive, Scope, Send
from millstream.server.problems import BadRequest, Problem
from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads

_API = f"{PAGE}/api"
_HEADERS = {**SECURITY_HEADERS, "cache-control": "no-store"}

Handler = Callable[[Request], Awaitable[Response]]
#: What a path under `/console/api` answers, as JSON.
Looks = Mapping[str, Callable[[Request], Any]]
#: The same for those that change something: the body of the request comes as JSON, too.
Changes = Mapping[str, Callable[[Request, Any], Any]]


class ConsoleApp:
    """An ASGI application: `/console` is answered here, all else by another.

    Args:
        other: who answers all else.
        looks: what is asked with GET.
        changes: what is asked with POST, by those who may.
        settings: limits.
    """

    def __init__(self, other: Application, looks: Looks, changes: Changes, settings: ServerSettings) -> None:
        self._other = other
        self._threads = Threads("millstream-console", settings)
        self._files = static_files()
        routes = [Route(_API + path, self._looked(answer), methods=["GET"]) for path, answer in looks.items()]
        routes += [Route(_API + path, self._changed(answer), methods=["POST"]) for path, answer in changes.items()]
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
        """Take no more requests."""
        self._threads.close()

    def _looked(self, answer: Callable[[Request], Any]) -> Handler:
        async def handler(request: Request) -> Response:
            return _json(await self._threads.run(lambda: answer(request)))

        return handler

    def _changed(self, answer: Callable[[Request, Any], Any]) -> Handler:
        async def handler(request: Request) -> Response:
            if not asker_of(request).may_change:
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


def asker_of(request: Request) -> Asker:
    """Who asks."""
    found = request.scope.get(ASKER)
    return found if isinstance(found, Asker) else Asker()


def number_of(request: Request, name: str) -> int | None:
    """A number among the parameters of a request; None if it is not given.

    Raises:
        BadRequest: it is none.
    """
    text = request.query_params.get(name)
    return None if text is None else whole_number(name, text)


def whole_number(name: str, text: str) -> int:
    """A number from a text.

    Raises:
        BadRequest: it is none.
    """
    if not text.isascii() or not text.isdigit():
        raise BadRequest(f"{name} is a number", detail=f"it is {text!r}")
    return int(text)


def _json(content: Any) -> Response:
    return Response(msgspec.json.encode(content), media_type="application/json", headers=_HEADERS)
