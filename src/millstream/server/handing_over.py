"""Where Granian hands requests over to Python: what can be answered there does not go through the event loop.

Granian calls Python in a thread of its own. By default that wakes the event loop, which makes a task for the request;
of an answer that is there at once, this way is the greater part. So its worker is put together here, of Granian's own
parts, with a scheduler that looks for such an answer first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from granian._futures import _future_watcher_wrapper
from granian._granian import ASGIWorker, CallbackScheduler
from granian.asgi import _callback_wrapper

from millstream.server.guard import AtOnce


def worker_with(at_once: AtOnce) -> Callable[..., Any]:
    """What Granian's embedded server runs instead of its own worker for ASGI."""

    async def serve(number: int, signal: Any, application: Any, sockets: Any, *options: Any) -> None:
        *threads, _, http, http1, http2, websockets, files, _, tls, scope_options = options
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        signal.add_cb(lambda: loop.call_soon_threadsafe(ended.set_result, None))
        make: Any = ASGIWorker
        worker = make(number, sockets, None, *threads, http, http1, http2, websockets, files, *tls, (None, None))
        answering = _future_watcher_wrapper(_callback_wrapper(application, scope_options, {}))  # type: ignore[no-untyped-call]
        worker.serve_async(_Scheduler(loop, answering, at_once), loop, signal)
        await ended

    return serve


class _Scheduler(CallbackScheduler):
    """Takes requests from Granian.

    Args:
        loop: where they are answered that are not answered at once.
        answering: makes the coroutine for one.
        at_once: answers the others.
    """

    __slots__ = ()

    def __new__(cls, loop: asyncio.AbstractEventLoop, answering: Any, at_once: AtOnce) -> _Scheduler:
        make: Any = super().__new__
        made: _Scheduler = make(cls, loop, answering, None, None, None)
        return made

    def __init__(self, loop: asyncio.AbstractEventLoop, answering: Any, at_once: AtOnce) -> None:
        super().__init__()
        context = self._ctx

        def begin(waiting: Any) -> None:
            waiting.taskref(loop.create_task(answering(waiting)))

        def take(waiting: Any) -> None:
            messages = at_once(waiting.scope)
            if messages is None:
                loop.call_soon_threadsafe(begin, waiting, context=context)
                return
            try:
                send = waiting.proto.send
                for message in messages:
                    send(message)  # done when it returns, as these are the whole answer; there is nothing to await
            except Exception as error:
                waiting.err(error)
            else:
                waiting.done()

        self._schedule_fn = take
