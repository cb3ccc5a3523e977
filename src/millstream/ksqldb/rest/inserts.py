"""`/inserts-stream`: rows come and acknowledgements go on one stream, at the same time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from starlette.responses import Response

from millstream.errors import MillstreamError
from millstream.ksqldb.api import Inserting, Service, ServiceError
from millstream.ksqldb.rest.bodies import InsertsTarget, decode, in_time
from millstream.ksqldb.rest.errors import (
    BAD_REQUEST,
    SERVER_ERROR,
    UNFORESEEN,
    Refusal,
    generic_error,
    message_of,
    refusal_of,
)
from millstream.ksqldb.rest.negotiation import JSON
from millstream.ksqldb.rest.values import encode
from millstream.server.guard import Receive, Scope, Send
from millstream.server.settings import ServerSettings
from millstream.server.threads import Threads

log = logging.getLogger("millstream.ksqldb")

#: How many rows may be on their way to the broker before no more are read.
_MOST_UNDER_WAY = 1_000


class InsertedRows(Response):
    """The answer to rows.

    Args:
        service: who takes them.
        threads: where it may wait.
        media_type: how acknowledgements are written: lines, or one JSON array.
        settings: how long a row may be, and how long the first line may take.
    """

    def __init__(self, service: Service, threads: Threads, media_type: str, settings: ServerSettings) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._service = service
        self._threads = threads
        self._as_array = media_type == JSON
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Insert rows until the client has no more, has left, or one fails."""
        lines = _Lines(receive, self._settings.max_body)
        first = decode(await in_time(lines.first, self._settings.patience), InsertsTarget)
        if not first.target.strip():
            raise Refusal(BAD_REQUEST, "The target of the rows must be given")
        try:
            inserting = await self._threads.run(
                lambda: self._service.insert_into(first.target, first.properties or {}), lambda made: made.close()
            )
        except ServiceError as error:
            raise refusal_of(error) from error
        outcomes = _Outcomes()
        reading = asyncio.create_task(self._insert(lines, inserting, outcomes))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # headers go out with a body
            await self._acknowledge(outcomes, send)
        finally:
            reading.cancel()
            inserting.close()

    async def _insert(self, lines: _Lines, inserting: Inserting, outcomes: _Outcomes) -> None:
        count = 0
        try:
            while (rows := await lines.following()) is not None:
                work = partial(_insert_rows, rows, count, lines.check, inserting, outcomes)
                outcomes.expect(range(count, count + len(rows)))
                count += len(rows)
                if not await self._threads.run(work):
                    return
                await outcomes.room()
        except ConnectionError:
            outcomes.leave()
        except MillstreamError as error:
            outcomes.put(count, error)
        except Exception as error:
            log.exception("rows cannot be inserted")
            outcomes.put(count, error)
        else:
            outcomes.no_more()

    async def _acknowledge(self, outcomes: _Outcomes, send: Send) -> None:
        """Say what became of each row; that one failed is said last, when all before it are known."""
        before, after = (b"[", b"") if self._as_array else (b"", b"\n")

        async def say(what: dict[str, Any]) -> None:
            nonlocal before
            await send({"type": "http.response.body", "body": before + encode(what) + after, "more_body": True})
            before = b"," if self._as_array else b""

        failed: tuple[int, Exception] | None = None
        seconds = self._settings.patience.total_seconds()
        while batch := await outcomes.take(None if failed is None else seconds):
            for number, error in batch:
                if error is None:
                    await say({"seq": number, "status": "ok"})
                elif failed is None or number < failed[0]:
                    failed = number, error
            if failed is not None and not outcomes.waits_for_one_before(failed[0]):
                break
        if failed is not None:
            await say(_told(*failed))
        if self._as_array:
            closing = b"[]" if before == b"[" else b"]"
            await send({"type": "http.response.body", "body": closing, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _insert_rows(
    rows: list[bytes], first: int, check: Callable[[bytes], None], inserting: Inserting, outcomes: _Outcomes
) -> bool:
    """Insert some rows, in a thread of its own; False if one does not fit."""
    for number, line in enumerate(rows, first):
        try:
            check(line)
            row: Mapping[str, Any] = decode(line, dict[str, Any])
            inserting.insert(row, partial(outcomes.put, number))
        except MillstreamError as error:
            outcomes.put(number, error)
            return False
        except Exception as error:
            log.exception("a row cannot be inserted")
            outcomes.put(number, error)
            return False
        if outcomes.has_failed:
            return False
    return True


def _told(number: int, error: Exception) -> dict[str, Any]:
    if isinstance(error, Refusal | ServiceError):
        content = generic_error(error.code, message_of(error))
    else:
        content = generic_error(SERVER_ERROR, message_of(error) if isinstance(error, MillstreamError) else UNFORESEEN)
    return {**content, "seq": number, "status": "error"}


class _Lines:
    """The lines of a request."""

    def __init__(self, receive: Receive, longest: int) -> None:
        self._receive = receive
        self._longest = longest
        self._rest = b""
        self._lines: list[bytes] = []
        self._ended = False

    async def first(self) -> bytes:
        """The first line; an empty one if there is none."""
        try:
            self._lines = await self.following() or [b""]
        except ConnectionError:
            raise Refusal(BAD_REQUEST, "The connection ended before the request did") from None
        return self._lines.pop(0)

    def check(self, line: bytes) -> None:
        """See that a line is not too long.

        Raises:
            Refusal: it is.
        """
        if len(line) > self._longest:
            raise Refusal(BAD_REQUEST, f"A row may have {self._longest} bytes at most")

    async def following(self) -> list[bytes] | None:
        """The lines that have come since the last call, at least one; None at the end.

        Raises:
            ConnectionError: the client has left.
            Refusal: a line does not end.
        """
        if self._lines:
            lines, self._lines = self._lines, []
            return lines
        while not self._ended:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError
            self._ended = not message.get("more_body")
            received: bytes = self._rest + message.get("body", b"")
            *lines, self._rest = received.split(b"\n")
            if self._ended and self._rest:
                lines.append(self._rest)
            if lines:
                return lines
            self.check(self._rest)
        return None


class _Outcomes:
    """What became of rows, told from any thread and taken in the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()
        self._free = asyncio.Event()
        self._done: deque[tuple[int, Exception | None]] = deque()
        self._is_last = False
        self._left = False
        #: Whether a row is not in its topic.
        self.has_failed = False
        #: The rows that nobody has said anything of; of the event loop alone.
        self._under_way: set[int] = set()

    def put(self, number: int, error: Exception | None = None) -> None:
        """A row is in its topic, or why it is not."""
        self.has_failed = self.has_failed or error is not None
        self._done.append((number, error))
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._event.set)

    def expect(self, numbers: Iterable[int]) -> None:
        """These rows are on their way."""
        self._under_way.update(numbers)

    def waits_for_one_before(self, number: int) -> bool:
        """Whether it is not known yet what became of a row before that one."""
        return any(other < number for other in self._under_way)

    def no_more(self) -> None:
        """All rows have been read."""
        self._is_last = True
        self._event.set()

    def leave(self) -> None:
        """The client has left."""
        self._left = True
        self._event.set()

    async def room(self) -> None:
        """Wait until there are not too many rows under way."""
        while len(self._under_way) > _MOST_UNDER_WAY:
            self._free.clear()
            await self._free.wait()

    async def take(self, seconds: float | None) -> list[tuple[int, Exception | None]]:
        """What has become known; nothing at the end, or if nothing has for so many seconds."""
        while not self._left:
            self._event.clear()
            found = [self._done.popleft() for _ in range(len(self._done))]
            if found:
                self._under_way.difference_update(number for number, _ in found)
                self._free.set()
                return found
            if self._is_last and not self._under_way:
                break
            try:
                async with asyncio.timeout(seconds):
                    await self._event.wait()
            except TimeoutError:
                break
        return []
