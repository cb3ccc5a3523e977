"""librdkafka's clients, made from a configuration."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, Producer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka.admin import AdminClient

from millstream.config import EMBEDDED, Properties, StreamsConfig, client_properties
from millstream.errors import ArgumentError
from millstream.kafka.errors import REFUSED

ConsumerKind = Literal["main.consumer", "global.consumer"]

_C = TypeVar("_C")
_LOG = logging.getLogger(__name__)
_SAY_AGAIN_SECONDS = 30.0
# librdkafka repeats itself several times a second; what matters also comes to the error callback.
_QUIET = {"log_level": "0", "log.connection.close": "false"}
# As Kafka's own clients: a broker that comes back is not left waiting.
_RECONNECT = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}


class ErrorWatch:
    """Takes the errors that a client meets in the background, logs them now and then, and remembers the last of them.

    Attributes:
        last: the last error.
        refused: the last error about credentials. A client goes on trying, so requests only time out.
    """

    def __init__(self) -> None:
        self.last: ClientError | None = None
        self.refused: ClientError | None = None
        self._said: dict[int, float] = {}

    def __call__(self, error: ClientError) -> None:
        self.last = error
        if error.code() in REFUSED:
            self.refused = error
        now = time.monotonic()
        if now - self._said.get(error.code(), -_SAY_AGAIN_SECONDS) >= _SAY_AGAIN_SECONDS:
            self._said[error.code()] = now
            _LOG.warning("kafka client: %s: %s", error.name(), error.str())


def consumer_properties(config: StreamsConfig, kind: ConsumerKind = "main.consumer") -> Properties:
    """The properties of a consumer that commits no positions by itself and reads committed records if it must."""
    own = {"group.id": config.application_id, "enable.auto.commit": "false", "enable.auto.offset.store": "false"}
    # Kafka's default, not librdkafka's, unless results must be exact.
    isolation = {"isolation.level": "read_committed" if config.exactly_once else "read_uncommitted"}
    reset = {"auto.offset.reset": {"none": "error"}.get(config.offset_reset, config.offset_reset)}
    return Properties(_base(config) | isolation | client_properties(config, kind) | own | reset)


def producer_properties(config: StreamsConfig, transactional_id: str | None = None) -> Properties:
    """The properties of a producer.

    Args:
        config: the configuration.
        transactional_id: makes the producer transactional.
    """
    # Records must go where Kafka's Java clients send them; librdkafka by itself uses another hash.
    own = {"partitioner": "murmur2_random"}
    if transactional_id is not None:
        own |= {"transactional.id": transactional_id, "enable.idempotence": "true"}
    defaults = {"linger.ms": "100"}  # as Kafka Streams sets it
    return Properties(_base(config) | defaults | client_properties(config, "producer") | own)


def admin_properties(config: StreamsConfig) -> Properties:
    """The properties of an admin client."""
    return Properties(_base(config) | client_properties(config, "admin"))


def make_consumer(
    config: StreamsConfig,
    kind: ConsumerKind = "main.consumer",
    *,
    watch: ErrorWatch | None = None,
    overrides: Mapping[str, str] | None = None,
) -> Consumer:
    """A consumer; the caller assigns its partitions.

    Args:
        config: the configuration.
        kind: which consumer's properties it gets.
        watch: is told about errors.
        overrides: properties that win over all others.
    """
    return _made(Consumer, Properties({**consumer_properties(config, kind), **(overrides or {})}), watch)


def make_producer(
    config: StreamsConfig,
    transactional_id: str | None = None,
    *,
    watch: ErrorWatch | None = None,
    overrides: Mapping[str, str] | None = None,
    on_failure: Callable[[ClientError, Message], None] | None = None,
    logger: logging.Logger = _LOG,
) -> Producer:
    """A producer. With a transactional id, the caller calls its `init_transactions`.

    Args:
        config: the configuration.
        transactional_id: makes it transactional.
        watch: is told about errors.
        overrides: properties that win over all others.
        on_failure: is told about records that could not be written; nobody is told about the others, which is quicker.
        logger: gets what librdkafka thinks nobody must miss.
    """
    properties = Properties({**producer_properties(config, transactional_id), **(overrides or {})})
    if on_failure is None:
        return _made(Producer, properties, watch, logger=logger)
    more = {"on_delivery": on_failure, "delivery.report.only.error": True}
    return _made(Producer, properties, watch, more, logger=logger)


def make_admin(config: StreamsConfig, *, watch: ErrorWatch | None = None) -> AdminClient:
    """An admin client."""
    return _made(AdminClient, admin_properties(config), watch)


def _base(config: StreamsConfig) -> dict[str, str]:
    servers = config.bootstrap_servers
    if servers is None:
        raise ArgumentError(
            "bootstrap_servers is not set",
            hint="set it to 'host:port', or to 'embedded' for a broker of the application's own",
        )
    if servers == EMBEDDED:
        raise ArgumentError(
            "the embedded broker was not started", hint="use the configuration that with_broker() returns"
        )
    return {"bootstrap.servers": servers, "client.id": config.application_id, **_RECONNECT, **_QUIET}


def _made(
    client: Callable[..., _C],
    properties: Properties,
    watch: ErrorWatch | None,
    more: Mapping[str, Any] | None = None,
    *,
    logger: logging.Logger = _LOG,
) -> _C:
    settings: dict[str, Any] = {**properties, **(more or {})}
    settings["error_cb"] = watch or ErrorWatch()
    try:
        return client(settings, logger=logger)
    except KafkaException as error:
        # librdkafka names the property, and shows no values.
        raise ArgumentError(
            "the client properties cannot be used",
            detail=error.args[0].str(),
            hint="see StreamsConfig.client; names and values are librdkafka's",
        ) from error
