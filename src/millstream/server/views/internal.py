"""Questions of other instances: MessagePack on both ways, keys and values as bytes."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from millstream.server.problems import Problem
from millstream.server.views.answering import Answering
from millstream.views.api import Views
from millstream.views.questions.wire import decode_request, encode_answer

PATH = "/internal/views"
MEDIA_TYPE = "application/msgpack"
#: Whom a question is meant for: addresses are given to others, too, in the course of time.
APPLICATION_HEADER = "millstream-application"
INSTANCE_HEADER = "millstream-instance"


async def answer_instance(
    headers: Mapping[str, str], body: bytes, views: Views, application_id: str, answering: Answering
) -> Response:
    """The answer of this instance alone to a question of another one."""
    if headers.get("content-type") != MEDIA_TYPE:
        raise Problem(
            415,
            "UnsupportedMediaType",
            "this path is for other instances of the application",
            hint="ask under /stores; /docs says how",
        )
    meant = headers.get(APPLICATION_HEADER), headers.get(INSTANCE_HEADER)
    if meant != (application_id, views.instance.id):
        raise Problem(
            421,
            "UnknownInstance",
            f"this is not instance {meant[1]} of application {meant[0]}",
            detail=f"it is instance {views.instance.id} of application {application_id}",
            hint="the address belongs to another instance now: look up where the partition is",
        )
    answer = await answering.ask_here(decode_request(body))
    return Response(encode_answer(answer), media_type=MEDIA_TYPE)
