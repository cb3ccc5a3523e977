"""Persistent queries as applications: how one is configured."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from millstream.config import StreamsConfig
from millstream.extractors import ConsumedRecord
from millstream.handlers import ErrorHandlerContext, LogAndFailExceptionHandler, Response
from millstream.sql.engine.queries import PersistentQuery
from millstream.sql.processing_log import ErrorType, ProcessingLog, causes
from millstream.sql.settings import Settings


@dataclass(frozen=True)
class SkipUnreadable:
    """Input that cannot be read is told to the processing log, and skipped."""

    query_id: str
    log: ProcessingLog

    def handle(self, context: ErrorHandlerContext, record: ConsumedRecord, exception: Exception) -> Response:
        """Log and resume."""
        detail = {
            "target": "key" if "key" in str(exception).split(":", 1)[0] else "value",
            "errorMessage": str(exception),
            "recordB64": base64.b64encode(record.value).decode() if isinstance(record.value, bytes) else None,
            "cause": causes(exception),
            "topic": record.topic,
        }
        self.log.error(
            f"processing.{self.query_id}.deserializer",
            {"type": int(ErrorType.DESERIALIZATION), "deserializationError": detail},
        )
        return Response.resume()


def application_config(base: StreamsConfig, query: PersistentQuery, log: ProcessingLog) -> StreamsConfig:
    """The configuration of a query's application.

    Args:
        base: what all queries have in common.
        query: whose settings count.
        log: what hears of records that cannot be read.
    """
    return replace(
        base,
        application_id=query.application_id,
        deserialization_exception_handler=_unreadable(query, log),
        **_from_settings(base, query.settings),
    )


def _unreadable(query: PersistentQuery, log: ProcessingLog) -> SkipUnreadable | LogAndFailExceptionHandler:
    if query.settings.get("ksql.fail.on.deserialization.error", False):
        return LogAndFailExceptionHandler()
    return SkipUnreadable(query.id, log)


def _from_settings(base: StreamsConfig, settings: Settings) -> dict[str, Any]:
    """What a session or the engine set of Kafka Streams' properties."""
    given = settings.set_values()
    found: dict[str, Any] = {}
    reset = _given(given, "auto.offset.reset")
    if reset is not None:
        found["client"] = {**base.client, "auto.offset.reset": reset}
    guarantee = _given(given, "processing.guarantee")
    if guarantee is not None:
        found["processing_guarantee"] = "exactly_once_v2" if guarantee.startswith("exactly_once") else guarantee
    cache = _given(given, "statestore.cache.max.bytes", "cache.max.bytes.buffering")
    if cache is not None:
        found["statestore_cache_max_bytes"] = cache
    interval = _given(given, "commit.interval.ms")
    if interval is not None:
        found["commit_interval"] = timedelta(milliseconds=interval)
    idle = _given(given, "max.task.idle.ms")
    if idle is not None:
        found["max_task_idle"] = None if idle < 0 else timedelta(milliseconds=idle)
    return found


def _given(values: dict[str, Any], *names: str) -> Any:
    for name in names:
        for spelling in (f"ksql.streams.{name}", name):
            if values.get(spelling) is not None:
                return values[spelling]
    return None
