"""`/ws/query`: rows as text frames of a websocket."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

from starlette.websockets import WebSocket

from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind, Request, ServiceError
from millstream.ksqldb.rest.bodies import Statements, decode
from millstream.ksqldb.rest.errors import (
    BAD_REQUEST,
    NOT_CAUGHT_UP,
    STARTING,
    TERMINATED,
    TERMINATING,
    UNFORESEEN,
    Refusal,
    message_of,
)
from millstream.ksqldb.rest.formats.printed import printed_line
from millstream.ksqldb.rest.taking import Taking
from millstream.ksqldb.rest.values import encode, row_encoder
from millstream.server.guard import Receive, Scope, Send
from millstream.sql.engine.answers.schema_info import FieldInfo, SchemaInfo

log = logging.getLogger("millstream.ksqldb")

#: RFC 6455's numbers for how a websocket is closed.
_NORMAL, _CANNOT_ACCEPT, _SERVER_ERROR, _TRY_AGAIN = 1000, 1003, 1011, 1013
#: How many bytes of a reason fit into a frame that closes.
_LONGEST_REASON = 123
_DONE = "done"
_VERSION = "1"

#: Begins to answer, and has an answer ended at the latest when the server is.
Begin = Callable[[Request], Awaitable[tuple[Taking, Callable[[], None]]]]


async def answer_websocket(scope: Scope, receive: Receive, send: Send, check: Callable[[], None], begin: Begin) -> None:
    """Send the rows of a query until they end or the client leaves.

    Args:
        scope: of the request.
        receive: from the client.
        send: to the client.
        check: raises `Refusal` while requests are not taken.
        begin: begins to answer.
    """
    socket = WebSocket(scope, receive, send)
    await socket.accept()
    try:
        check()
        taking, at_end = await begin(_request(scope["query_string"]))
    except (Refusal, ServiceError) as error:
        await _end(socket, message_of(error), _close_code(error.code))
        return
    except MillstreamError as error:
        await _end(socket, message_of(error), _SERVER_ERROR)
        return
    except Exception:
        log.exception("a query of a websocket failed")
        await _end(socket, UNFORESEEN, _SERVER_ERROR)
        return
    watching = asyncio.create_task(taking.watch(receive))
    try:
        message, code = await _send_rows(socket, taking)
        is_gone = watching.done()
    finally:
        watching.cancel()
        taking.close()
        at_end()
    await asyncio.wait((watching,))  # Granian closes a websocket only while nobody waits to receive from it
    if not is_gone:
        await _end(socket, message, code)


async def _send_rows(socket: WebSocket, taking: Taking) -> tuple[str, int]:
    """Send rows until there are no more, and what is to be said at the end."""
    answer = taking.answer
    frame: Callable[[Any], bytes | None]
    if answer.kind is AnswerKind.PRINT:
        frame = _printed
    else:
        values = row_encoder(answer.columns)
        frame = lambda row: None if row.is_tombstone else b'{"row":{"columns":%s}}' % values(row.values)  # noqa: E731
        await socket.send_text(encode(_schema(taking)).decode())
    while rows := await taking.take():
        for row in rows:
            try:
                text = frame(row)
            except Exception:
                log.exception("a row of query %s cannot be sent", answer.query_id)
                return UNFORESEEN, _SERVER_ERROR
            if text is not None:
                await socket.send_text(text.decode())
            if taking.has_left:
                break
        await asyncio.sleep(0)  # others have their turn
    error = taking.end.error
    if error is None:
        return _DONE, _NORMAL
    return message_of(error), _close_code(error.code if isinstance(error, ServiceError) else 0)


def _request(query_string: bytes) -> Request:
    try:
        given = parse_qs(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20)
    except ValueError:
        raise Refusal(BAD_REQUEST, "The query of the URL cannot be read") from None
    version = given.get("version", [_VERSION])[-1]
    if version != _VERSION:
        raise Refusal(BAD_REQUEST, f"Received invalid api version: {version}")
    if "request" not in given:
        raise Refusal(BAD_REQUEST, "The parameter `request` is missing")
    return decode(given["request"][-1].encode(), Statements).request()


def _schema(taking: Taking) -> list[dict[str, Any]]:
    """The columns; pulls of tables tell which are keys."""
    answer = taking.answer
    keys = answer.key_columns if answer.kind is AnswerKind.TABLE_PULL else ()
    fields = (
        FieldInfo(column.name, SchemaInfo.of(column.type), "KEY" if column.name in keys else None)
        for column in answer.columns
    )
    return [field.to_json() for field in fields]


def _printed(row: Any) -> bytes | None:
    line = printed_line(row, guesses=False)
    return None if line is None else encode(line)


def _close_code(code: int) -> int:
    if code in (NOT_CAUGHT_UP, STARTING, TERMINATING, TERMINATED):
        return _TRY_AGAIN
    return _CANNOT_ACCEPT if 400 <= code // 100 < 500 else _SERVER_ERROR


async def _end(socket: WebSocket, message: str, code: int) -> None:
    await socket.send_text(encode({"error": message}).decode())
    await socket.close(code, message.encode()[:_LONGEST_REASON].decode(errors="ignore"))
