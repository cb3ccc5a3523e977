"""A server: a service, and HTTP in front of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from millstream.config import StreamsConfig
from millstream.connect.access import ConnectAccess
from millstream.connect.client import ConnectClient
from millstream.connect.embedded import embedded_worker
from millstream.connect.errors import PortInUse
from millstream.connect.settings import connect_access
from millstream.kafka.admin import Admin
from millstream.ksqldb.commands.names import application_id
from millstream.ksqldb.commands.processing_log import processing_log
from millstream.ksqldb.queries.desk import QueryDesk
from millstream.ksqldb.rest.app import RestApp
from millstream.ksqldb.rest.serving import http_server
from millstream.ksqldb.service import HeadlessService, KsqlService
from millstream.server.guard import Surrounding
from millstream.server.listening import Listener
from millstream.server.settings import ServerSettings
from millstream.sql.engine.api import configured_registry
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import Queries
from millstream.sql.engine.runners.kafka_topics import KafkaTopics
from millstream.sql.engine.runners.lane_queries import LaneQueries
from millstream.sql.formats import SchemaRegistry
from millstream.sql.functions.registry import default_registry
from millstream.sql.functions.user import Source as UserFunctions
from millstream.sql.functions.user import add_user_functions
from millstream.sql.settings import Settings

log = logging.getLogger("millstream.ksqldb")


@dataclass(frozen=True)
class ServerParts:
    """What a server is made of, for who puts something around its REST."""

    rest: RestApp
    service: KsqlService | HeadlessService
    lanes: LaneQueries
    config: StreamsConfig
    http: ServerSettings


class KsqlServer:
    """Speaks ksqlDB's REST protocol from `start` to `close`; its persistent queries run in lanes on Spark.

        with KsqlServer(StreamsConfig(bootstrap_servers="broker:9092"), {"ksql.service.id": "shop_"}) as server:
            print(server.url)
            ...

    Servers with the same `ksql.service.id` on the same brokers are one service: they share its statements and its work.

    Args:
        config: where the brokers are, and how Spark runs. The service's id takes the place of `application_id`.
        settings: ksqlDB's properties.
        http: where to listen, who may ask.
        functions: modules with user functions (`@udf` and the like), or their names.
        registry: where schemas are; by default the registry that `ksql.schema.registry.url` names.
        queries: statements that are executed at the start. The server is then headless: it takes no others.
        around: puts something around REST, such as the console.
    """

    def __init__(
        self,
        config: StreamsConfig,
        settings: Mapping[str, Any] | None = None,
        http: ServerSettings | None = None,
        *,
        functions: Iterable[UserFunctions] = (),
        registry: SchemaRegistry | None = None,
        queries: str | None = None,
        around: Callable[[ServerParts], Surrounding] | None = None,
    ) -> None:
        self._http = ServerSettings() if http is None else http
        self._settings = Settings(settings or {})
        service_id = self._settings.get("ksql.service.id", "default_")
        self._config = replace(config, application_id=application_id(service_id))
        self._listener = Listener(self._http)
        self._topics = KafkaTopics(self._config)
        errors = processing_log(self._config, self._settings)
        self._lanes = LaneQueries(self._config, errors)
        self._desk = QueryDesk(self._config)
        file = self._settings.get("ksql.connect.worker.config")
        self._worker = embedded_worker(Path(file)) if file else None
        known = default_registry()
        add_user_functions(known, functions)
        context = Context(
            functions=known,
            topics=self._topics,
            queries=Queries(self._lanes),
            settings=self._settings,
            registry=configured_registry(self._settings) if registry is None else registry,
            connectors=ConnectClient(self._connect_access()),
            log=errors,
            push_queries=self._desk.push_queries,
        )
        self._service: KsqlService | HeadlessService
        if queries is None:
            self._service = KsqlService.connect(self._config, context, self._desk)
        else:
            self._service = KsqlService.headless(context, self._desk, queries, self._cluster_id())
        self._app = RestApp(self._service, self._http)
        parts = ServerParts(self._app, self._service, self._lanes, self._config, self._http)
        self._around = None if around is None else around(parts)
        self._server = http_server(
            self._app if self._around is None else self._around,
            self._listener,
            self._http,
            () if self._around is None else self._around.open_paths,
        )

    @property
    def url(self) -> str:
        """Where clients find it."""
        return self._listener.url

    def start(self) -> Self:
        """Listen, and replay what the service has been told so far; when it returns, statements are taken."""
        self._lanes.warm_up()
        self._start_worker()
        self._server.start()
        if isinstance(self._service, KsqlService):
            self._service.start()
        log.info("service %s is at %s", self._settings.get("ksql.service.id", "default_"), self.url)
        return self

    def close(self) -> None:
        """Let requests under way end, have lanes commit, and leave: other servers of the service go on."""
        self._app.close()
        if self._around is not None:
            self._around.close()
        self._server.close()
        self._service.close()
        self._topics.close()
        if self._worker is not None:
            self._worker.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect_access(self) -> ConnectAccess:
        access = connect_access(self._settings)
        if self._worker is None or "ksql.connect.url" in self._settings.set_values():
            return access
        return replace(access, url=self._worker.url)

    def _start_worker(self) -> None:
        if self._worker is None:
            return
        try:
            self._worker.start()
        except PortInUse:
            log.warning("%s is taken: Kafka Connect seems to run already, and is used as it is", self._worker.url)

    def _cluster_id(self) -> str:
        return Admin(self._config).cluster_id()
