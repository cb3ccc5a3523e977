"""What queries do at the moment, as DESCRIBE .. EXTENDED tells it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from millstream.sql.engine.answers.entities import (
    ConsumerPartitionOffsets,
    QueryOffsetSummary,
    QueryTopicOffsetSummary,
)
from millstream.sql.engine.context import Context
from millstream.sql.engine.progress import InputOffsets
from millstream.sql.engine.queries import PersistentQuery


def statistics(context: Context, reading: Iterable[PersistentQuery]) -> str:
    """What the queries of this server have read of a source; empty if they have read nothing."""
    found = [context.queries.runner.progress(query) for query in reading]
    last = max((progress.last for progress in found if progress.last is not None), default=None)
    if last is None:
        return ""
    rate, total = sum(progress.rate for progress in found), sum(progress.processed for progress in found)
    when = datetime.fromtimestamp(last / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]
    parts = [
        f"consumer-messages-per-sec: {rate:9.2f}",
        f"consumer-total-messages: {total:9d}",
        f"    last-message: {when}Z",
    ]
    return " ".join(parts)


def error_statistics(context: Context, reading: Iterable[PersistentQuery]) -> str:
    """How many records of a source its queries could not use; empty if they could use all."""
    dropped = sum(context.queries.runner.progress(query).dropped for query in reading)
    return f"consumer-failed-messages: {dropped:9d}" if dropped else ""


def offset_summary(context: Context, query: PersistentQuery) -> QueryOffsetSummary:
    """How far a query is in what it reads; of several servers, each tells of the partitions that it reads."""
    topics: dict[str, list[InputOffsets]] = {}
    for offsets in context.queries.runner.offsets(query):
        topics.setdefault(offsets.topic, []).append(offsets)
    return QueryOffsetSummary(
        query.application_id,
        tuple(
            QueryTopicOffsetSummary(
                topic,
                tuple(ConsumerPartitionOffsets(at.partition, at.start, at.end, at.position) for at in found),
            )
            for topic, found in sorted(topics.items())
        ),
    )
