"""All patterns."""

from __future__ import annotations

from .harness.world import Pattern
from .invariants import (
    commands_events_queries,
    database_inside_out,
    dead_letters,
    event_collaboration,
    event_sourcing,
    foreign_key_enrichment,
    latest_and_versioned,
    orchestration,
    request_reply,
    transactional_outbox,
)

PATTERNS: tuple[Pattern, ...] = tuple(
    module.PATTERN
    for module in (
        event_collaboration,
        orchestration,
        event_sourcing,
        database_inside_out,
        latest_and_versioned,
        commands_events_queries,
        transactional_outbox,
        request_reply,
        dead_letters,
        foreign_key_enrichment,
    )
)
