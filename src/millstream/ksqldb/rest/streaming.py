"""Rows of an answer on their way to a client over HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from starlette.responses import Response

from millstream.errors import MillstreamError
from millstream.ksqldb.api import AnswerKind, End, Row, ServiceError
from millstream.ksqldb.rest.errors import SERVER_ERROR, UNFORESEEN, Refusal, in_stream, message_of, refusal_of
from millstream.ksqldb.rest.formats.format import Format
from millstream.ksqldb.rest.taking import Taking
from millstream.server.guard import Receive, Scope, Send

log = logging.getLogger("millstream.ksqldb")

#: How much is put together where a format allows it.
_FULL = 5 * 1024
#: After how many rows others have their turn; a client that reads quickly would keep all of them waiting.
_TURN = 256
_IDLE_SECONDS = 1.0


class StreamedAnswer(Response):
    """An answer that is sent while it comes. The query ends with it, however it ends.

    Args:
        taking: whose rows.
        format: how they are written.
        media_type: what the format is called.
        at_end: is called at the end.
    """

    def __init__(self, taking: Taking, format: Format, media_type: str, at_end: Callable[[], None]) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._taking = taking
        self._format = format
        self._at_end = at_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        watching = asyncio.create_task(self._taking.watch(receive))
        try:
            first = await self._first_rows()
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if not self._format.start():
                await send({"type": "http.response.body", "body": b"", "more_body": True})  # headers go out with a body
            writer = _Writer(send, buffered=self._format.is_buffered)
            await self._stream(writer, first)
            await writer.end()
        finally:
            watching.cancel()
            self._taking.close()
            self._at_end()

    async def _first_rows(self) -> list[Row]:
        """What is there before anything is said: an error that has come by then is an answer of its own.

        Pulls of tables have rows or fail at once. All others may have to wait long for their first row.
        """
        taking = self._taking
        is_quick = taking.answer.kind is AnswerKind.TABLE_PULL
        rows = await taking.take() if is_quick else taking.take_now()
        error = taking.end.error
        if rows or error is None:
            return rows
        if isinstance(error, ServiceError):
            raise refusal_of(error)
        raise Refusal(SERVER_ERROR, message_of(error))

    async def _stream(self, writer: _Writer, rows: list[Row]) -> None:
        format, taking = self._format, self._taking
        await writer.write(format.start())
        idle_seconds = _IDLE_SECONDS if format.idle else None
        while rows or not taking.is_over:
            if not await self._write_rows(writer, rows):
                end = End(error=MillstreamError(UNFORESEEN))
                break
            await writer.flush()
            rows = await taking.take(idle_seconds)
            if not rows and not taking.is_over:
                await writer.write(format.idle)
        else:
            end = taking.end
        if end.error is not None:
            await writer.write(format.error(in_stream(end.error)))
        await writer.write(format.finish(end))

    async def _write_rows(self, writer: _Writer, rows: list[Row]) -> bool:
        """Write rows; False if the format does not have one of their values."""
        for number, row in enumerate(rows, 1):
            try:
                piece = self._format.row(row)
            except Exception:
                log.exception("a row of query %s cannot be sent", self._taking.answer.query_id)
                return False
            await writer.write(piece)
            if number % _TURN == 0:
                await asyncio.sleep(0)
                if self._taking.has_left:
                    break
        return True


class _Writer:
    """Sends pieces of a body, each by itself unless they may be put together."""

    def __init__(self, send: Send, *, buffered: bool) -> None:
        self._send = send
        self._buffered = buffered
        self._kept = bytearray()

    async def write(self, piece: bytes) -> None:
        if not self._buffered:
            await self._write(piece)
            return
        self._kept += piece
        if len(self._kept) >= _FULL:
            await self.flush()

    async def flush(self) -> None:
        """Keep nothing back."""
        piece = bytes(self._kept)
        self._kept.clear()
        await self._write(piece)

    async def end(self) -> None:
        """That was all."""
        await self.flush()
        await self._send({"type": "http.response.body", "body": b""})

    async def _write(self, piece: bytes) -> None:
        if piece:
            await self._send({"type": "http.response.body", "body": piece, "more_body": True})
