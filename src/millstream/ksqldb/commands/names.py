"""What a service is called in Kafka, as ksqlDB calls it."""

from __future__ import annotations

from millstream.sql.settings import Settings

_PREFIX = "_confluent-ksql-"


def application_id(service_id: str) -> str:
    """What a service is called among the applications on its brokers.

    >>> application_id("default_")
    '_confluent-ksql-default_'
    """
    return f"{_PREFIX}{service_id}"


def command_topic(service_id: str) -> str:
    """The topic that has the commands of a service.

    >>> command_topic("default_")
    '_confluent-ksql-default__command_topic'
    """
    return f"{application_id(service_id)}_command_topic"


def processing_log_topic(settings: Settings) -> str:
    """The topic that has what went wrong with single records."""
    given = settings.get("ksql.logging.processing.topic.name")
    return given or f"{settings.get('ksql.service.id')}ksql_processing_log"
