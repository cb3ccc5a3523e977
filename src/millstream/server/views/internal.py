"""Questions of other instances: MessagePack on both ways, keys and values as bytes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from millstream.server.guard import Message, Scope, whole_answer
from millstream.server.problems import BadRequest, Problem
from millstream.server.views.answering import Answering, is_quick
from millstream.views.api import Views
from millstream.views.questions import wire

PATH = "/internal/views"
MEDIA_TYPE = "application/msgpack"
#: Whom a question is meant for: addresses are given to others, too, in the course of time.
APPLICATION_HEADER = "millstream-application"
INSTANCE_HEADER = "millstream-instance"
#: Longer questions are the body of a POST. Those in the URL of a GET can be answered without waiting for a body.
_MOST_IN_URL = 1024
_RAW_PATH = PATH.encode()


def request_of(question: bytes) -> tuple[str, str, bytes | None]:
    """How a question is sent: method, URL and body."""
    if len(question) > _MOST_IN_URL:
        return "POST", PATH, question
    return "GET", f"{PATH}?{base64.urlsafe_b64encode(question).decode()}", None


class InternalQuestions:
    """Answers other instances, with what this instance alone has.

    Args:
        views: who knows.
        application_id: the application whose views these are.
        answering: asks, where that takes time.
    """

    def __init__(self, views: Views, application_id: str, answering: Answering) -> None:
        self._views = views
        self._application_id = application_id
        self._answering = answering

    async def answer(self, request: Request) -> Response:
        """Answer a question."""
        self._check(request.headers)
        question = await request.body() if request.method == "POST" else _in_url(request.scope)
        found = await self._answering.ask_here(wire.decode_request(question))
        body = wire.encode_answer(found)
        response = Response(body)
        response.raw_headers = _headers(body)
        return response

    def at_once(self, scope: Scope) -> Iterable[Message] | None:
        """The answer to a question for one key, if nothing is wrong with it (`AtOnce`)."""
        if scope["raw_path"] != _RAW_PATH or scope.get("method") != "GET":
            return None
        self._check(Headers(scope=scope))
        store, query, needs, partitions = wire.decode_request(_in_url(scope))
        if not is_quick(query, needs):
            return None
        body = wire.encode_answer(self._views.ask_here(store, query, needs, partitions))
        return whole_answer(body, _headers(body))

    def _check(self, headers: Mapping[str, str]) -> None:
        """Whether it is a question of an instance, and meant for this one."""
        if headers.get("content-type") != MEDIA_TYPE:
            raise Problem(
                415,
                "UnsupportedMediaType",
                "this path is for other instances of the application",
                hint="ask under /stores; /docs says how",
            )
        meant = headers.get(APPLICATION_HEADER), headers.get(INSTANCE_HEADER)
        if meant != (self._application_id, self._views.instance.id):
            raise Problem(
                421,
                "UnknownInstance",
                f"this is not instance {meant[1]} of application {meant[0]}",
                detail=f"it is instance {self._views.instance.id} of application {self._application_id}",
                hint="the address belongs to another instance now: look up where the partition is",
            )


def _in_url(scope: Scope) -> bytes:
    try:
        return base64.urlsafe_b64decode(scope["query_string"])
    except binascii.Error as error:
        raise BadRequest("the question is not base64", detail=str(error)) from error


def _headers(body: bytes) -> list[tuple[bytes, bytes]]:
    return [(b"content-length", str(len(body)).encode()), (b"content-type", MEDIA_TYPE.encode())]
