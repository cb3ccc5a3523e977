"""A client of Kafka Connect's REST API.

It remembers nothing of connectors: every answer is Connect's of now.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import msgspec

from millstream.connect.access import ConnectAccess
from millstream.connect.errors import ConnectRefused, NoConnect

T = TypeVar("T")

_ATTEMPTS = 3
_FIRST_WAIT_SECONDS = 0.1


class TaskId(msgspec.Struct, frozen=True):
    """Which task of which connector."""

    connector: str
    task: int


class ConnectorInfo(msgspec.Struct, frozen=True):
    """A connector: what it was made with, and its tasks."""

    name: str
    config: dict[str, str | None] = {}
    tasks: tuple[TaskId, ...] = ()
    type: str | None = "unknown"


class ConnectorState(msgspec.Struct, frozen=True):
    """How a connector itself does."""

    state: str
    worker_id: str
    trace: str | None = None


class TaskState(msgspec.Struct, frozen=True):
    """How a task of a connector does."""

    id: int
    state: str
    worker_id: str
    trace: str | None = None


class ConnectorStatus(msgspec.Struct, frozen=True):
    """How a connector and its tasks do."""

    name: str
    connector: ConnectorState
    tasks: tuple[TaskState, ...] = ()
    type: str | None = "unknown"


class Plugin(msgspec.Struct, frozen=True):
    """A kind of connector that workers can run."""

    class_name: str = msgspec.field(name="class")
    type: str | None = None
    version: str | None = None


class _Value(msgspec.Struct, frozen=True):
    name: str
    errors: tuple[str, ...] = ()


class _Checked(msgspec.Struct, frozen=True):
    value: _Value


class _Validation(msgspec.Struct, frozen=True):
    configs: tuple[_Checked, ...] = ()


class _Topics(msgspec.Struct, frozen=True):
    topics: tuple[str, ...] = ()


class Connectors(Protocol):
    """What can be asked about connectors, and done with them. See `ConnectClient`."""

    def names(self) -> list[str]: ...

    def info(self, name: str) -> ConnectorInfo: ...

    def status(self, name: str) -> ConnectorStatus: ...

    def topics(self, name: str) -> tuple[str, ...]: ...

    def validate(self, class_name: str, config: Mapping[str, str]) -> dict[str, tuple[str, ...]]: ...

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo: ...

    def delete(self, name: str) -> None: ...

    def plugins(self) -> list[Plugin]: ...


class ConnectClient:
    """Asks any worker of a Connect cluster. May be used by several threads.

    Each method raises `ConnectRefused` where a worker answers with an error, and `NoConnect` where nothing answers; it
    tries again where that may help.

    Args:
        access: where the cluster is.
    """

    def __init__(self, access: ConnectAccess) -> None:
        self._access = access
        self._base = access.url.rstrip("/")
        tls = access.tls()
        handlers = [] if tls is None else [HTTPSHandler(context=tls)]
        self._opener = build_opener(ProxyHandler({}), *handlers)
        self._authorization: str | None = None

    @property
    def url(self) -> str:
        """Where the cluster is."""
        return self._base

    def names(self) -> list[str]:
        """The names of all connectors."""
        return self._ask("GET", "/connectors", list[str])

    def info(self, name: str) -> ConnectorInfo:
        """What a connector was made with."""
        return self._ask("GET", f"/connectors/{_part(name)}", ConnectorInfo)

    def status(self, name: str) -> ConnectorStatus:
        """How a connector does."""
        return self._ask("GET", f"/connectors/{_part(name)}/status", ConnectorStatus)

    def topics(self, name: str) -> tuple[str, ...]:
        """The topics that a connector has used so far."""
        found = self._ask("GET", f"/connectors/{_part(name)}/topics", dict[str, _Topics])
        return found[name].topics if name in found else ()

    def validate(self, class_name: str, config: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """What is wrong with a configuration: errors by the name of the property."""
        path = f"/connector-plugins/{_part(class_name)}/config/validate"
        found = self._ask("PUT", path, _Validation, config)
        return {one.value.name: one.value.errors for one in found.configs if one.value.errors}

    def create(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Make a connector; it starts to run."""
        return self._ask("POST", "/connectors", ConnectorInfo, {"name": name, "config": dict(config)})

    def delete(self, name: str) -> None:
        """End a connector. What it knows of its progress stays in Connect's topics."""
        self._request("DELETE", f"/connectors/{_part(name)}", None)

    def plugins(self) -> list[Plugin]:
        """The kinds of connectors there are."""
        return self._ask("GET", "/connector-plugins", list[Plugin])

    def is_healthy(self) -> bool:
        """Whether the worker has joined its cluster, and can be asked. It is asked once."""
        try:
            self._once(Request(f"{self._base}/health"))  # noqa: S310 - the scheme was checked
        except (ConnectRefused, NoConnect):
            return False
        return True

    def _ask(self, method: str, path: str, kind: type[T], content: Any = None) -> T:
        body = self._request(method, path, content)
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            raise NoConnect(f"what answers at {self._base} is not Kafka Connect", detail=str(error)) from error

    def _request(self, method: str, path: str, content: Any) -> bytes:
        headers = {"Accept": "application/json"}
        data = None
        if content is not None:
            data = msgspec.json.encode(content)
            headers["Content-Type"] = "application/json"
        authorization = self._credentials()
        if authorization is not None:
            headers["Authorization"] = authorization
        request = Request(f"{self._base}{path}", data, headers, method=method)  # noqa: S310 - the scheme was checked
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._once(request)
            except ConnectRefused as refused:
                may_help = refused.status == HTTPStatus.CONFLICT or refused.status >= 500  # a rebalance, or a hiccup
                if not may_help or attempt == _ATTEMPTS:
                    raise
            except NoConnect:
                if attempt == _ATTEMPTS:
                    raise
            time.sleep(_FIRST_WAIT_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _once(self, request: Request) -> bytes:
        try:
            with self._opener.open(request, timeout=self._access.patience.total_seconds()) as answer:
                body: bytes = answer.read()
                return body
        except HTTPError as error:
            with error:
                raise ConnectRefused(error.code, error.read().decode("utf-8", "replace")) from error
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise NoConnect(
                f"Kafka Connect does not answer at {self._base}",
                detail=str(reason) or type(reason).__name__,
                hint="`millstream connect start` starts a worker; ksql.connect.url says where one is",
            ) from error

    def _credentials(self) -> str | None:
        file = self._access.credentials
        if file is None:
            return None
        if self._authorization is None or file.reload:
            self._authorization = file.authorization()
        return self._authorization


def _part(name: str) -> str:
    """A name as part of a path."""
    return quote(name, safe="")
