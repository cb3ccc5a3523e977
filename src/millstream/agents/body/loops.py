"""The event loop of a thread, which all agents in it share, so that they may share clients of other services, too."""

from __future__ import annotations

import asyncio
import threading
from asyncio.events import _get_running_loop, _set_running_loop
from collections.abc import Iterator
from contextlib import contextmanager


class _OfThread(threading.local):
    loop: asyncio.AbstractEventLoop | None = None
    users: int = 0


_thread = _OfThread()


def acquire_loop() -> asyncio.AbstractEventLoop:
    """The thread's event loop, for as long as it is not released as often."""
    if _thread.loop is None:
        _thread.loop = asyncio.new_event_loop()
    _thread.users += 1
    return _thread.loop


def release_loop() -> None:
    """The counterpart of `acquire_loop`."""
    _thread.users -= 1
    if _thread.users == 0 and _thread.loop is not None:
        loop, _thread.loop = _thread.loop, None
        run(loop, loop.shutdown_asyncgens())
        loop.close()


def run(loop: asyncio.AbstractEventLoop, until: asyncio.Future[None] | object) -> None:
    """Run the loop until something is done, even if the caller is a coroutine of another loop (a test)."""
    with running(None):
        loop.run_until_complete(until)  # type: ignore[arg-type]  # anything that can be awaited


@contextmanager
def running(loop: asyncio.AbstractEventLoop | None) -> Iterator[None]:
    """Have this loop be taken for the running one."""
    before = _get_running_loop()
    _set_running_loop(loop)
    try:
        yield
    finally:
        _set_running_loop(before)
