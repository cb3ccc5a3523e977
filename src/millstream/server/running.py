"""An HTTP server in a thread of this process: HTTP/1.1, HTTP/2 (also without TLS, with prior knowledge) and websockets.

Granian does the protocols in Rust; applications run in an event loop of our own thread. Its embedded server is used
with a socket that is bound already, the process's logging is left alone (by default it would be set up anew), and
requests that outlive `drain` are cancelled, because it would wait for them for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server as GranianServer
from starlette.middleware.cors import CORSMiddleware

from millstream.server.guard import Application, AtOnce, Guard
from millstream.server.handing_over import worker_with
from millstream.server.listening import Listener
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings

#: How long a client may take for the headers of a request; an idle connection is closed after the same time.
HEADER_SECONDS = 30
_BACKLOG = 1024
_SWITCH_SECONDS = 0.0005
#: How long the protocols' side may take to end after the last request has.
_ENDING_SECONDS = 2.0
_LOGGING: dict[str, Any] = {"incremental": True, "formatters": {}, "handlers": {}, "loggers": {"_granian": {}}}


class HttpServer:
    """Serves an ASGI application from `start` to `close`.

    Args:
        application: who answers.
        listener: where.
        settings: limits, authentication, TLS.
        open_paths: see `Guard`.
        streamed_paths: see `Guard`.
        restate: see `Guard`.
        at_once: see `Guard`.
    """

    def __init__(
        self,
        application: Application,
        listener: Listener,
        settings: ServerSettings,
        open_paths: Iterable[str] = (),
        *,
        streamed_paths: Iterable[str] = (),
        restate: Callable[[Problem], Problem] | None = None,
        at_once: AtOnce | None = None,
    ) -> None:
        self._guard = Guard(
            application, settings, open_paths, streamed_paths=streamed_paths, restate=restate, at_once=at_once
        )
        # What browsers are told of other pages is said of every answer, and on the ordinary way alone (`_shared`).
        self._worker = None if settings.allowed_origins or at_once is None else worker_with(self._guard.at_once)
        self._listener = listener
        self._settings = settings
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"millstream-http-{listener.port}", daemon=True)

    def start(self) -> None:
        """Begin to answer; returns when requests are taken."""
        # A thread that computes is interrupted for one that has a request to answer: by default only after 5 ms, and a
        # request passes several threads.
        sys.setswitchinterval(min(_SWITCH_SECONDS, sys.getswitchinterval()))
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Take no new requests, let those under way end or end them, and give the port back. Safe to call again."""
        loop, stop = self._loop, self._stop
        if loop is None or stop is None:
            self._listener.close()
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(stop.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._started.set()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        tls = self._settings.tls
        server = _OnSocket(
            self._listener,
            _shared(self._guard, self._settings),
            interface=Interfaces.ASGINL,
            http=HTTPModes.auto,
            backlog=_BACKLOG,
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_SECONDS * 1000),
            log_level=LogLevels.error,
            log_dictconfig=_LOGGING,
            ssl_cert=None if tls is None else tls.certificate,
            ssl_key=None if tls is None else tls.key,
            ssl_key_password=None if tls is None else tls.key_password,
        )
        serving = asyncio.create_task(server.serve(self._worker))
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.sleep(0)  # it takes the socket now, or raises
        self._started.set()
        await asyncio.wait((serving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
            return
        server.stop()  # type: ignore[no-untyped-call]
        await self._guard.drain(self._settings.drain.total_seconds())
        # Who has sent half a request is not waited for.
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(serving, _ENDING_SECONDS)


def _shared(application: Application, settings: ServerSettings) -> Application:
    """An application that tells browsers which web pages may have its answers."""
    origins = settings.allowed_origins
    if not origins:
        return application
    return CORSMiddleware(application, allow_origins=origins, allow_methods=("GET", "POST"), allow_headers=("*",))


class _OnSocket(GranianServer):
    """Granian's embedded server on a socket that is there already."""

    def __init__(self, listener: Listener, application: Application, **options: Any) -> None:
        super().__init__(application, **options)
        self._listener = listener

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder(self._listener.detach(), False, _BACKLOG)  # type: ignore[call-arg]
        self._shd = holder
