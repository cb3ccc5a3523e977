"""The way of a question to another instance: HTTP over connections that are kept."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Collection
from typing import Any

import msgspec

from millstream import errors
from millstream.errors import InstanceUnreachable, ViewError
from millstream.server.running import HEADER_SECONDS
from millstream.server.settings import ServerSettings
from millstream.server.views.answering import AskedElsewhere, must_not_wait
from millstream.server.views.internal import APPLICATION_HEADER, INSTANCE_HEADER, MEDIA_TYPE, request_of
from millstream.views.answers import Answer, Instance
from millstream.views.queries import Query, Requirements
from millstream.views.questions.wire import Request, decode_answer, encode_request

#: Idle connections per address.
_KEPT = 16
#: How long one is kept; the other side closes it a little later.
_KEPT_SECONDS = HEADER_SECONDS * 0.6

_Address = tuple[str, int]


class HttpRemote:
    """Asks other instances over HTTP.

    Args:
        application_id: the application whose instances they are.
        settings: the token to send, TLS, and how long to wait.
    """

    def __init__(self, application_id: str, settings: ServerSettings) -> None:
        self._application_id = application_id
        self._timeout = settings.patience.total_seconds()
        self._headers = {"content-type": MEDIA_TYPE, APPLICATION_HEADER: application_id}
        if settings.tokens:
            self._headers["authorization"] = f"Bearer {settings.tokens[0]}"
        self._tls: ssl.SSLContext | None = None
        if settings.tls is not None:
            authorities = settings.tls.authorities
            self._tls = ssl.create_default_context(cafile=None if authorities is None else str(authorities))
        self._lock = threading.Lock()
        #: Idle connections by address, with the time each was last used; the latest is last.
        self._idle: dict[_Address, list[tuple[float, http.client.HTTPConnection]]] = {}
        self._closed = False

    def ask(
        self,
        instance: Instance,
        store: str,
        query: Query,
        requirements: Requirements,
        partitions: Collection[int],
    ) -> Answer:
        """The answer of another instance for these partitions; keys and values are bytes on both ways.

        Raises:
            ViewError: what was raised there.
            InstanceUnreachable: nobody answers there, or somebody else does.
        """
        if instance.host is None:
            raise InstanceUnreachable(f"instance {instance.id} has no address")
        if must_not_wait():
            raise AskedElsewhere
        question = encode_request(Request(store, query, requirements, tuple(partitions)))
        try:
            status, answer = self._send((instance.host, instance.port), question, instance.id)
            if status == 200:
                return decode_answer(answer)
        except (OSError, http.client.HTTPException, msgspec.MsgspecError) as error:
            raise InstanceUnreachable(
                f"instance {instance.id} does not answer",
                detail=f"at {instance.host}:{instance.port}: {type(error).__name__}: {error}",
                hint="try again: others take its partitions over if it is gone",
            ) from error
        raise _error_of(instance, status, answer)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for _, connection in connections:
                connection.close()

    def _send(self, address: _Address, question: bytes, instance: str) -> tuple[int, bytes]:
        headers = {**self._headers, INSTANCE_HEADER: instance}
        connection = self._kept(address)
        if connection is not None:
            try:
                return self._exchange(connection, address, question, headers)
            except TimeoutError:
                raise
            except (OSError, http.client.HTTPException):  # the other side has closed it: a question may be asked again
                pass
        return self._exchange(self._connect(address), address, question, headers)

    def _exchange(
        self, connection: http.client.HTTPConnection, address: _Address, question: bytes, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        method, url, body = request_of(question)
        try:
            connection.request(method, url, body, headers)
            response = connection.getresponse()
            answer = response.read()
        except BaseException:
            connection.close()
            raise
        if not response.will_close:
            self._keep(address, connection)
        return response.status, answer

    def _connect(self, address: _Address) -> http.client.HTTPConnection:
        host, port = address
        connection: http.client.HTTPConnection
        if self._tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=self._tls)
        try:
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException:
            connection.close()
            raise
        return connection

    def _kept(self, address: _Address) -> http.client.HTTPConnection | None:
        with self._lock:
            connections = self._idle.get(address)
            if not connections:
                return None
            used, connection = connections.pop()
            old = [] if time.monotonic() - used < _KEPT_SECONDS else [connection, *(kept for _, kept in connections)]
            if old:
                connections.clear()  # the others are older still
        for each in old:
            each.close()
        return None if old else connection

    def _keep(self, address: _Address, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            connections = self._idle.setdefault(address, [])
            if not self._closed and len(connections) < _KEPT:
                connections.append((time.monotonic(), connection))
                return
        connection.close()


class _Told(msgspec.Struct):
    """The body of an error."""

    kind: str = ""
    primary: str = "it answers something else than an instance would"
    detail: str | None = None
    hint: str | None = None


def _error_of(instance: Instance, status: int, body: bytes) -> ViewError:
    """What was raised there; what is none of the views' errors makes the instance unreachable."""
    try:
        told = msgspec.json.decode(body, type=_Told)
    except msgspec.MsgspecError:
        told = _Told()
    kind: Any = getattr(errors, told.kind, None)
    if isinstance(kind, type) and issubclass(kind, ViewError):
        return kind(told.primary, detail=told.detail, hint=told.hint)
    return InstanceUnreachable(
        f"instance {instance.id} refuses to answer",
        detail=f"at {instance.host}:{instance.port}, status {status}: {told.primary}",
        hint=told.hint,
    )
