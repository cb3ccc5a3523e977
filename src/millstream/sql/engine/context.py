"""What statements are executed with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.connect.client import Connectors
from millstream.registry.schemas import SchemaRegistry
from millstream.sql.catalogue import Catalogue
from millstream.sql.engine.queries import PushQuery, Queries
from millstream.sql.engine.topics import Topics
from millstream.sql.functions.registry import Registry
from millstream.sql.processing_log import ProcessingLog, PythonLog
from millstream.sql.settings import Settings


def _now() -> int:
    return int(time.time() * 1000)


@dataclass
class Context:
    """The state of the engine and of its session.

    Attributes:
        settings: what SET and UNSET change.
        variables: what DEFINE and UNDEFINE change.
        registry: what statements ask and tell about schemas; None when no schema registry is configured.
        live_registry: what running queries ask, if it is another: where statements are executed as they were planned
            before, `registry` gives the answers of then.
        connectors: Kafka Connect; None where there is none.
        now: the time of records that are inserted without one, in milliseconds.
        scripts: whether RUN SCRIPT, and the assertions of ksqlDB's test tool, are statements.
        read_script: the text of a script that RUN SCRIPT names.
        push_queries: those that clients look at now; only a server has any.
    """

    functions: Registry
    topics: Topics
    queries: Queries
    settings: Settings = field(default_factory=Settings)
    registry: SchemaRegistry | None = None
    live_registry: SchemaRegistry | None = None
    connectors: Connectors | None = None
    catalogue: Catalogue = field(default_factory=Catalogue)
    variables: dict[str, str] = field(default_factory=dict)
    log: ProcessingLog = field(default_factory=PythonLog)
    now: Callable[[], int] = _now
    scripts: bool = False
    read_script: Callable[[str], str] | None = None
    push_queries: Callable[[], list[PushQuery]] = list

    def application_id(self, query_id: str) -> str:
        """The name of a query in Kafka."""
        return (
            f"_confluent-ksql-{self.settings.get('ksql.service.id', '')}"
            f"{self.settings.get('ksql.persistent.prefix', '')}{query_id}"
        )
