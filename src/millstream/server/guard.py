"""What stands before every application: limits, authentication, errors as JSON; and who is under way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any, Protocol

from starlette.exceptions import HTTPException

from millstream.errors import MillstreamError
from millstream.server.authentication import ANYONE, Authentication
from millstream.server.origins import check_origin
from millstream.server.problems import Problem, problem_of
from millstream.server.settings import ServerSettings

log = logging.getLogger("millstream.server")

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
#: The messages that answer a request; None, or anything raised, if it must take the ordinary way. Called in any thread,
#: and must not wait.
AtOnce = Callable[[Scope], Iterable[Message] | None]


def whole_answer(body: bytes, headers: list[tuple[bytes, bytes]]) -> tuple[Message, Message]:
    """The messages of an answer that is all there."""
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    return start, {"type": "http.response.body", "body": body}


class Surrounding(Protocol):
    """An ASGI application that answers some requests itself, and leaves the others to the one that it is put around."""

    @property
    def open_paths(self) -> Iterable[str]:
        """Paths that need no authentication."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def close(self) -> None:
        """Take no more requests."""


#: Where an application finds who asks: an `Asker` in the scope of a request.
ASKER = "millstream.asker"
_LOOKING = frozenset({"GET", "HEAD", "OPTIONS"})
#: RFC 6455's number for a connection that is refused.
_POLICY_VIOLATION = 1008
_HINTS = {
    404: "/docs says what there is",
    405: "the header Allow says which methods are taken",
}


class Guard:
    """An ASGI application around another.

    Args:
        application: who answers requests that come through.
        settings: who may ask, and limits.
        open_paths: paths that need no authentication.
        streamed_paths: paths whose requests have bodies without end; the application limits what it keeps of them.
        restate: has a last say in how an error is told.
        at_once: answers some requests without the application, in the same words.
    """

    def __init__(
        self,
        application: Application,
        settings: ServerSettings,
        open_paths: Iterable[str] = (),
        *,
        streamed_paths: Iterable[str] = (),
        restate: Callable[[Problem], Problem] | None = None,
        at_once: AtOnce | None = None,
    ) -> None:
        self._application = application
        self._settings = settings
        self._open = frozenset(open_paths)
        self._streamed = frozenset(streamed_paths)
        self._restate = restate
        self._at_once = at_once
        self._authentication = Authentication(settings)
        self._under_way: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, whatever happens."""
        task = asyncio.current_task()
        if task is not None:
            self._under_way.add(task)
        answer = _Answer(send, scope["type"], self._settings.patience.total_seconds(), self._restate)
        try:
            self._check(scope)
            if scope["path"] not in self._streamed:
                receive = _Limited(receive, self._settings.max_body)
            await self._application(scope, receive, answer)
        except asyncio.CancelledError:
            pass  # the server is stopped; who waits for the answer sees the connection end
        except HTTPException as error:
            await answer.problem(_of_http(error, scope))
        except MillstreamError as error:
            await answer.problem(problem_of(error))
        except Exception as error:
            log.exception("a request failed: %s %s", scope.get("method", scope["type"]), scope["path"])
            await answer.problem(Problem(500, "InternalError", "the server failed", detail=type(error).__name__))
        finally:
            if task is not None:
                self._under_way.discard(task)

    def at_once(self, scope: Scope) -> Iterable[Message] | None:
        """An answer that is there at once (`AtOnce`); whatever is wrong with a request, the ordinary way tells."""
        if self._at_once is None:
            return None
        try:
            self._check(scope)
            return self._at_once(scope)
        except Exception:
            return None

    async def drain(self, seconds: float) -> None:
        """Give the requests under way some time, then end them."""
        waiting = set(self._under_way)
        if not waiting:
            return
        _, late = await asyncio.wait(waiting, timeout=seconds)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)

    def _check(self, scope: Scope) -> None:
        length = len(scope["raw_path"]) + len(scope["query_string"])
        if length > self._settings.max_url:
            raise Problem(
                414,
                "UrlTooLong",
                "the URL is too long",
                detail=f"it has {length} bytes, at most {self._settings.max_url} are taken",
                hint="ask for fewer keys at a time",
            )
        is_open = scope["path"] in self._open
        scope[ASKER] = ANYONE if is_open else self._authentication.check(scope["headers"])
        if scope.get("method") not in _LOOKING:
            check_origin(scope["headers"], self._settings)


class _Answer:
    """Sends on, for as long as the client takes it, and knows whether the answer has begun."""

    def __init__(
        self, send: Send, kind: str, patience: float, restate: Callable[[Problem], Problem] | None = None
    ) -> None:
        self._send = send
        self._kind = kind
        self._patience = patience
        self._restate = restate
        self._begun = False

    async def __call__(self, message: Message) -> None:
        self._begun = True
        if not message.get("more_body") and message["type"] != "websocket.send":
            await self._send(message)
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._send(message)
        except TimeoutError:
            raise asyncio.CancelledError from None  # who does not read on has lost interest

    async def problem(self, problem: Problem) -> None:
        """Tell an error, if that is still possible."""
        if self._restate is not None:
            problem = self._restate(problem)
        if self._begun:
            raise problem  # ends the connection: the client must not take half an answer for a whole one
        if self._kind == "websocket":
            await self._send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": problem.primary})
            return
        body = problem.encoded()
        headers = {"content-length": str(len(body)), "cache-control": "no-store", **problem.headers}
        if problem.media_type is not None:
            headers["content-type"] = problem.media_type
        encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": problem.status, "headers": encoded})
        await self._send({"type": "http.response.body", "body": body})


class _Limited:
    """Receives on, up to a number of bytes."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._most = most
        self._seen = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body") or b"")
        if self._seen > self._most:
            raise Problem(
                413,
                "BodyTooLarge",
                "the body of the request is too large",
                detail=f"at most {self._most} bytes are taken",
            )
        return message


def _of_http(error: HTTPException, scope: Scope) -> Problem:
    """What Starlette refuses."""
    phrase = HTTPStatus(error.status_code).phrase
    return Problem(
        error.status_code,
        phrase.replace(" ", ""),
        f"{phrase.lower()}: {scope.get('method', '')} {scope['path']}",
        hint=_HINTS.get(error.status_code),
        headers={name.lower(): value for name, value in (error.headers or {}).items()},
    )
