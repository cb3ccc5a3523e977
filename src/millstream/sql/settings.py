"""Settings of the engine: ksqlDB's `ksql.*` properties, and those of Kafka Streams and the Kafka clients.

`SET 'name' = 'value'` lays a value over the configured one for a session.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from millstream.sql.errors import SqlError

STREAMS_PREFIX = "ksql.streams."
FUNCTIONS_PREFIX = "ksql.functions."
_CONNECT_TLS_PREFIX = "ksql.connect.ssl."
_CLIENT_PREFIXES = ("main.consumer.", "restore.consumer.", "global.consumer.", "consumer.", "producer.", "admin.")


class Kind(enum.Enum):
    """What a value must look like."""

    BOOLEAN = "BOOLEAN"
    INTEGER = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    STRING = "STRING"


@dataclass(frozen=True, slots=True)
class Definition:
    """A property that ksqlDB knows.

    Attributes:
        editable: whether a session may SET it; the others belong to the server.
    """

    kind: Kind
    default: Any = None
    editable: bool = True


def _server(kind: Kind, default: Any = None) -> Definition:
    return Definition(kind, default, editable=False)


#: The properties that begin with `ksql.` (functions and streams have prefixes of their own).
KSQL_PROPERTIES: Mapping[str, Definition] = MappingProxyType(
    {
        "ksql.access.validator.enable": _server(Kind.STRING, "auto"),
        "ksql.assert.schema.default.timeout.ms": Definition(Kind.LONG, 1000),
        "ksql.assert.topic.default.timeout.ms": Definition(Kind.LONG, 1000),
        "ksql.auth.cache.expiry.time.secs": _server(Kind.LONG, 30),
        "ksql.auth.cache.max.entries": _server(Kind.LONG, 10_000),
        "ksql.cast.strings.preserve.nulls": Definition(Kind.BOOLEAN, True),
        "ksql.connect.basic.auth.credentials.file": _server(Kind.STRING, ""),
        "ksql.connect.basic.auth.credentials.reload": _server(Kind.BOOLEAN, False),
        "ksql.connect.basic.auth.credentials.source": _server(Kind.STRING, "NONE"),
        "ksql.connect.error.handler": _server(Kind.STRING),
        "ksql.connect.request.headers.plugin": _server(Kind.STRING),
        "ksql.connect.request.timeout.ms": _server(Kind.LONG, 5000),
        "ksql.connect.url": _server(Kind.STRING, "http://localhost:8083"),
        "ksql.connect.worker.config": _server(Kind.STRING, ""),
        "ksql.create.or.replace.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.custom.metrics.extension": _server(Kind.STRING),
        "ksql.custom.metrics.tags": _server(Kind.STRING, ""),
        "ksql.endpoint.migrate.query": _server(Kind.BOOLEAN, True),
        "ksql.error.classifier.regex": Definition(Kind.STRING, ""),
        "ksql.extension.dir": _server(Kind.STRING, "ext"),
        "ksql.fail.on.deserialization.error": Definition(Kind.BOOLEAN, False),
        "ksql.fail.on.production.error": Definition(Kind.BOOLEAN, True),
        "ksql.fetch.remote.hosts.max.timeout.seconds": Definition(Kind.LONG, 10),
        "ksql.headers.columns.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.hidden.topics": _server(Kind.STRING, "_confluent.*,__confluent.*,_schemas,__consumer_offsets"),
        "ksql.insert.into.values.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.internal.topic.min.insync.replicas": Definition(Kind.INTEGER, 1),
        "ksql.internal.topic.replicas": Definition(Kind.INTEGER, 1),
        "ksql.json_sr.converter.deserializer.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.lambdas.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.logging.processing.rows.include": _server(Kind.BOOLEAN, False),
        "ksql.logging.processing.stream.auto.create": _server(Kind.BOOLEAN, False),
        "ksql.logging.processing.stream.name": _server(Kind.STRING, "KSQL_PROCESSING_LOG"),
        "ksql.logging.processing.topic.auto.create": _server(Kind.BOOLEAN, False),
        "ksql.logging.processing.topic.name": _server(Kind.STRING, ""),
        "ksql.logging.processing.topic.partitions": _server(Kind.INTEGER, 1),
        "ksql.logging.processing.topic.replication.factor": _server(Kind.INTEGER, 1),
        "ksql.metastore.backup.location": _server(Kind.STRING, ""),
        "ksql.max.push.queries": _server(Kind.INTEGER, 100),
        "ksql.nested.error.set.null": Definition(Kind.BOOLEAN, True),
        "ksql.new.query.planner.enabled": Definition(Kind.BOOLEAN, False),
        "ksql.output.topic.name.prefix": Definition(Kind.STRING, ""),
        "ksql.persistence.default.format.key": Definition(Kind.STRING, "KAFKA"),
        "ksql.persistence.default.format.value": Definition(Kind.STRING),
        "ksql.persistence.wrap.single.values": Definition(Kind.BOOLEAN),
        "ksql.persistent.prefix": _server(Kind.STRING, "query_"),
        "ksql.properties.overrides.denylist": _server(Kind.STRING, ""),
        "ksql.pull.queries.enable": Definition(Kind.BOOLEAN, True),
        "ksql.query.cleanup.shutdown.timeout.ms": Definition(Kind.LONG, 30_000),
        "ksql.query.error.max.queue.size": Definition(Kind.INTEGER, 10),
        "ksql.query.persistent.active.limit": Definition(Kind.INTEGER, 2**31 - 1),
        "ksql.query.persistent.max.bytes.buffering.total": _server(Kind.LONG, -1),
        "ksql.query.pull.consistency.token.enabled": Definition(Kind.BOOLEAN, False),
        "ksql.query.pull.enable.standby.reads": Definition(Kind.BOOLEAN, False),
        "ksql.query.pull.forwarding.timeout.ms": Definition(Kind.LONG, 20_000),
        "ksql.query.pull.interpreter.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.pull.limit.clause.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.pull.max.allowed.offset.lag": Definition(Kind.LONG, 2**63 - 1),
        "ksql.query.pull.max.concurrent.requests": _server(Kind.INTEGER, 2**31 - 1),
        "ksql.query.pull.max.hourly.bandwidth.megabytes": _server(Kind.INTEGER, 2**31 - 1),
        "ksql.query.pull.max.qps": _server(Kind.INTEGER, 2**31 - 1),
        "ksql.query.pull.metrics.enabled": _server(Kind.BOOLEAN, True),
        "ksql.query.pull.range.scan.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.pull.router.thread.pool.size": _server(Kind.INTEGER, 50),
        "ksql.query.pull.stream.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.pull.table.scan.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.pull.thread.pool.size": _server(Kind.INTEGER, 50),
        "ksql.query.push.v2.catchup.consumer.msg.window": Definition(Kind.INTEGER, 50),
        "ksql.query.push.v2.continuation.tokens.enabled": Definition(Kind.BOOLEAN, False),
        "ksql.query.push.v2.enabled": Definition(Kind.BOOLEAN, False),
        "ksql.query.push.v2.interpreter.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.query.push.v2.latest.reset.age.ms": Definition(Kind.LONG, 30_000),
        "ksql.query.push.v2.max.catchup.consumers": Definition(Kind.INTEGER, 5),
        "ksql.query.push.v2.max.hourly.bandwidth.megabytes": _server(Kind.INTEGER, 2**31 - 1),
        "ksql.query.push.v2.metrics.enabled": _server(Kind.BOOLEAN, True),
        "ksql.query.push.v2.new.latest.delay.ms": Definition(Kind.LONG, 5_000),
        "ksql.query.push.v2.registry.installed": Definition(Kind.BOOLEAN, False),
        "ksql.query.retry.backoff.initial.ms": Definition(Kind.LONG, 15_000),
        "ksql.query.retry.backoff.max.ms": Definition(Kind.LONG, 900_000),
        "ksql.query.status.running.threshold.seconds": Definition(Kind.INTEGER, 300),
        "ksql.query.transient.max.bytes.buffering.total": _server(Kind.LONG, -1),
        "ksql.readonly.topics": _server(Kind.STRING, "_confluent.*,__confluent.*,_schemas,__consumer_offsets"),
        "ksql.rowpartition.rowoffset.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.runtime.feature.shared.enabled": _server(Kind.BOOLEAN, False),
        "ksql.schema.registry.url": _server(Kind.STRING, ""),
        "ksql.security.extension.class": _server(Kind.STRING),
        "ksql.server.command.response.timeout.ms": _server(Kind.LONG, 5000),
        "ksql.service.id": _server(Kind.STRING, "default_"),
        "ksql.shutdown.timeout.ms": _server(Kind.LONG, 300_000),
        "ksql.sink.partitions": Definition(Kind.INTEGER),
        "ksql.sink.replicas": Definition(Kind.INTEGER),
        "ksql.sink.window.change.log.additional.retention": Definition(Kind.LONG, 1_000_000),
        "ksql.source.table.materialization.enabled": _server(Kind.BOOLEAN, True),
        "ksql.suppress.buffer.size.bytes": Definition(Kind.LONG, -1),
        "ksql.suppress.enabled": Definition(Kind.BOOLEAN, True),
        "ksql.timestamp.throw.on.invalid": Definition(Kind.BOOLEAN, False),
        "ksql.transient.prefix": _server(Kind.STRING, "transient_"),
        "ksql.udf.collect.metrics": _server(Kind.BOOLEAN, False),
        "ksql.udf.enable.security.manager": _server(Kind.BOOLEAN, True),
        "ksql.udfs.enabled": _server(Kind.BOOLEAN, True),
        "ksql.variable.substitution.enable": Definition(Kind.BOOLEAN, True),
        "ksql.websocket.connection.max.timeout.ms": _server(Kind.LONG, 0),
    }
)

#: Properties of Kafka Streams and the clients that are often set. The value is what they must look like.
CLIENT_PROPERTIES: Mapping[str, Definition] = MappingProxyType(
    {
        "acceptable.recovery.lag": Definition(Kind.LONG, 10_000),
        "acks": Definition(Kind.STRING),
        "application.server": Definition(Kind.STRING),
        "auto.commit.interval.ms": Definition(Kind.INTEGER),
        "auto.offset.reset": Definition(Kind.STRING, "latest"),
        "batch.size": Definition(Kind.INTEGER),
        "bootstrap.servers": Definition(Kind.STRING),
        "buffer.memory": Definition(Kind.LONG),
        "buffered.records.per.partition": Definition(Kind.INTEGER),
        "cache.max.bytes.buffering": Definition(Kind.LONG, 10_000_000),
        "client.id": Definition(Kind.STRING),
        "commit.interval.ms": Definition(Kind.LONG, 2000),
        "compression.type": Definition(Kind.STRING),
        "connections.max.idle.ms": Definition(Kind.LONG),
        "default.deserialization.exception.handler": Definition(Kind.STRING),
        "default.production.exception.handler": Definition(Kind.STRING),
        "default.timestamp.extractor": Definition(Kind.STRING),
        "delivery.timeout.ms": Definition(Kind.INTEGER),
        "enable.auto.commit": Definition(Kind.BOOLEAN),
        "enable.idempotence": Definition(Kind.BOOLEAN),
        "fetch.max.bytes": Definition(Kind.INTEGER),
        "fetch.max.wait.ms": Definition(Kind.INTEGER),
        "fetch.min.bytes": Definition(Kind.INTEGER),
        "group.id": Definition(Kind.STRING),
        "heartbeat.interval.ms": Definition(Kind.INTEGER),
        "interceptor.classes": Definition(Kind.STRING),
        "isolation.level": Definition(Kind.STRING),
        "linger.ms": Definition(Kind.LONG),
        "max.block.ms": Definition(Kind.LONG),
        "max.in.flight.requests.per.connection": Definition(Kind.INTEGER),
        "max.partition.fetch.bytes": Definition(Kind.INTEGER),
        "max.poll.interval.ms": Definition(Kind.INTEGER),
        "max.poll.records": Definition(Kind.INTEGER),
        "max.request.size": Definition(Kind.INTEGER),
        "max.task.idle.ms": Definition(Kind.LONG),
        "metadata.max.age.ms": Definition(Kind.LONG),
        "metric.reporters": Definition(Kind.STRING),
        "metrics.recording.level": Definition(Kind.STRING),
        "num.standby.replicas": Definition(Kind.INTEGER, 0),
        "num.stream.threads": Definition(Kind.INTEGER, 4),
        "partition.assignment.strategy": Definition(Kind.STRING),
        "partitioner.class": Definition(Kind.STRING),
        "poll.ms": Definition(Kind.LONG),
        "probing.rebalance.interval.ms": Definition(Kind.LONG),
        "processing.guarantee": Definition(Kind.STRING, "at_least_once"),
        "receive.buffer.bytes": Definition(Kind.INTEGER),
        "reconnect.backoff.max.ms": Definition(Kind.LONG),
        "reconnect.backoff.ms": Definition(Kind.LONG),
        "replication.factor": Definition(Kind.INTEGER, 1),
        "request.timeout.ms": Definition(Kind.INTEGER),
        "retries": Definition(Kind.INTEGER),
        "retry.backoff.ms": Definition(Kind.LONG),
        "rocksdb.config.setter": Definition(Kind.STRING),
        "sasl.jaas.config": Definition(Kind.STRING),
        "sasl.mechanism": Definition(Kind.STRING),
        "security.protocol": Definition(Kind.STRING),
        "send.buffer.bytes": Definition(Kind.INTEGER),
        "session.timeout.ms": Definition(Kind.INTEGER),
        "ssl.keystore.location": Definition(Kind.STRING),
        "ssl.truststore.location": Definition(Kind.STRING),
        "state.cleanup.delay.ms": Definition(Kind.LONG),
        "state.dir": Definition(Kind.STRING),
        "statestore.cache.max.bytes": Definition(Kind.LONG, 10_000_000),
        "task.timeout.ms": Definition(Kind.LONG),
        "topology.optimization": Definition(Kind.STRING, "all"),
        "transaction.timeout.ms": Definition(Kind.INTEGER),
        "windowstore.changelog.additional.retention.ms": Definition(Kind.LONG),
    }
)


@dataclass(frozen=True)
class Settings(Mapping[str, Any]):
    """The values in force: what was configured, and what the session laid over it.

    Names of Kafka Streams are known with and without their prefix `ksql.streams.`.

    Args:
        configured: of the engine; unknown `ksql.*` names are refused.
        overrides: of the session.
    """

    configured: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "configured", checked(self.configured))
        object.__setattr__(self, "overrides", checked(self.overrides))

    def __getitem__(self, name: str) -> Any:
        for key in _spellings(name):
            for values in (self.overrides, self.configured):
                if key in values:
                    return values[key]
        definition = definition_of(name)
        if definition is None:
            raise KeyError(name)
        return definition.default

    def get(self, name: str, default: Any = None) -> Any:
        """A value, or `default` where it was neither set nor has one of its own."""
        try:
            value = self[name]
        except KeyError:
            return default
        return default if value is None else value

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*KSQL_PROPERTIES, *self.configured, *self.overrides]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return True  # there are always some; to count them takes time

    def __hash__(self) -> int:
        return hash(tuple(sorted((name, str(value)) for name, value in self.set_values().items())))

    def with_override(self, name: str, value: Any) -> Settings:
        """SET."""
        return Settings(self.configured, {**self.overrides, name: value})

    def without_override(self, name: str) -> Settings:
        """UNSET."""
        return Settings(self.configured, {key: value for key, value in self.overrides.items() if key != name})

    def set_values(self) -> dict[str, Any]:
        """All that was configured or set, by the name it was given."""
        return {**self.configured, **self.overrides}

    @property
    def functions(self) -> dict[str, Any]:
        """What functions are configured with: all `ksql.functions.*`."""
        return {name: value for name, value in self.set_values().items() if name.startswith(FUNCTIONS_PREFIX)}


def definition_of(name: str) -> Definition | None:
    """What is known of a property; None when ksqlDB knows no such property."""
    if name.startswith(FUNCTIONS_PREFIX):
        return Definition(Kind.STRING)
    if name.startswith(_CONNECT_TLS_PREFIX):
        return _server(Kind.STRING)
    if name.startswith(STREAMS_PREFIX):
        inner = _without_client_prefix(name.removeprefix(STREAMS_PREFIX))
        # Kafka Streams takes what it does not know: internal settings begin with two underscores.
        return CLIENT_PROPERTIES.get(inner, Definition(Kind.STRING))
    if name.startswith("ksql."):
        return KSQL_PROPERTIES.get(name)
    return CLIENT_PROPERTIES.get(_without_client_prefix(name))


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the type of their property.

    Raises:
        SqlError: a `ksql.*` property is unknown, or a value is not of its type.
    """
    return {name: _typed(name, value) for name, value in values.items()}


def _typed(name: str, value: Any) -> Any:
    definition = definition_of(name)
    if definition is None:
        if name.startswith("ksql."):
            raise SqlError(f"Unknown property: {name}")
        return value
    if value is None or not isinstance(value, str):
        return value
    return _parsed(name, value.strip(), definition.kind)


def _parsed(name: str, text: str, kind: Kind) -> Any:
    if kind is Kind.STRING:
        return text
    if kind is Kind.BOOLEAN:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise SqlError(f"Invalid value {text} for configuration {name}: Expected value to be either true or false")
    try:
        return float(text) if kind is Kind.DOUBLE else int(text)
    except ValueError:
        raise SqlError(f"Invalid value {text} for configuration {name}: Not a number of type {kind.value}") from None


def _spellings(name: str) -> tuple[str, ...]:
    if name.startswith(STREAMS_PREFIX):
        return name, name.removeprefix(STREAMS_PREFIX)
    if name.startswith("ksql."):
        return (name,)
    return name, STREAMS_PREFIX + name


def _without_client_prefix(name: str) -> str:
    for prefix in _CLIENT_PREFIXES:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name
