"""The console of a ksqlDB service: what its pages ask of the server they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request

from millstream.console.app import ConsoleApp, asker_of, number_of
from millstream.console.kafka.looking import KafkaLooking, Looking
from millstream.console.kafka.pages import KafkaPages
from millstream.console.service.explaining import explained
from millstream.console.service.lanes import lanes_json
from millstream.console.service.names import dependents_json, sources_json
from millstream.console.service.overview import Lanes, Overview
from millstream.console.topology import seen_json, topology_json
from millstream.ksqldb.api import Service
from millstream.ksqldb.server import ServerParts
from millstream.server.guard import Application
from millstream.server.problems import Problem
from millstream.server.settings import ServerSettings
from millstream.sql.engine.context import Context
from millstream.sql.engine.queries import PersistentQuery

#: How long lanes look after they were asked; pages ask again sooner.
_LOOK_SECONDS = 6.0


class ServiceConsoleApp(ConsoleApp):
    """The console, made of its parts.

    Args:
        other: who answers what is not the console's.
        service: what the server is.
        context: the state of its engine.
        lanes: where its queries run.
        looking: asks Kafka.
        name: what the service is called in Kafka.
        settings: limits.
    """

    def __init__(
        self,
        other: Application,
        service: Service,
        context: Callable[[], Context],
        lanes: Lanes,
        looking: Looking,
        name: str,
        settings: ServerSettings,
    ) -> None:
        self._service = service
        self._context = context
        self._lanes = lanes
        self._kafka = KafkaPages(looking, lambda: context().topics, lambda: context().registry, name)
        self.overview = Overview(context, lanes, looking)
        looks = {
            "/session": self._session,
            "/overview": self._overview,
            "/topology/{query}": self._topology,
            "/topology/{query}/figures": lambda request: self._figures(self._query(request)),
            "/explain": self._explain,
            "/names": self._names,
            "/lags/{query}": lambda request: self.overview.lags().get(request.path_params["query"], {}),
            "/dependents": lambda request: dependents_json(self._context(), request.query_params.get("name", "")),
            "/lanes": lambda request: lanes_json(lanes, looking, name),
        }
        super().__init__(other, {**looks, **self._kafka.looks()}, self._kafka.changes(), settings)

    def close(self) -> None:
        """Take no more requests, and leave the brokers."""
        self.overview.close()
        super().close()
        self._kafka.close()

    def _session(self, request: Request) -> Any:
        asker = asker_of(request)
        info = self._service.info()
        return {
            "kind": "service",
            "user": asker.name,
            "mayChange": asker.may_change,
            "version": info.version,
            "name": info.service_id,
            "cluster": info.kafka_cluster_id,
            "status": info.status.value,
            "state": self._service.state.value,
        }

    def _overview(self, request: Request) -> Any:
        context = self._context()
        return {
            "state": self._service.state.value,
            "queries": self.overview.queries(),
            "history": self.overview.history.told(number_of(request, "after")),
            "lanes": len(self._lanes.lanes),
            "pushQueries": [{"id": query.id, "sql": query.sql} for query in context.push_queries()],
            "sources": len(context.catalogue.sources),
        }

    def _topology(self, request: Request) -> Any:
        query = self._query(request)
        drawn = topology_json(query.id, query.topology, query.application_id, query.sql)
        return {**drawn, **self._figures(query)}

    def _query(self, request: Request) -> PersistentQuery:
        query = self._context().queries.get(request.path_params["query"])
        if query is None:
            raise Problem(404, "UnknownQuery", f"there is no query {request.path_params['query']}")
        return query

    def _figures(self, query: PersistentQuery) -> dict[str, Any]:
        return {
            "figures": self._lanes.told().get(query.id, {}),
            "lags": self.overview.lags().get(query.id, {}),
            "seen": seen_json(self._lanes.look(query.id, _LOOK_SECONDS)),
        }

    def _explain(self, request: Request) -> Any:
        query = explained(self._context(), request.query_params.get("sql", ""))
        drawn = topology_json(query.id, query.topology, query.application_id, query.sql)
        return {**drawn, "figures": {}, "lags": {}, "seen": seen_json(())}

    def _names(self, request: Request) -> Any:
        context = self._context()
        return {
            "sources": sources_json(context),
            "queries": [query.id for query in list(context.queries)],
            "functions": sorted(function.name for function in context.functions.describe()),
        }


class ServiceConsole(ServiceConsoleApp):
    """The console around a server, see `KsqlServer`.

    Args:
        parts: the server's.
    """

    def __init__(self, parts: ServerParts) -> None:
        super().__init__(
            parts.rest,
            parts.service,
            lambda: parts.service.context,
            parts.lanes,
            KafkaLooking(parts.config),
            parts.config.application_id,
            parts.http,
        )
        self.overview.history.start()
