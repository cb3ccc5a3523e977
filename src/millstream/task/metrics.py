"""What a task counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class TaskMetrics:
    """Totals since the task was made."""

    #: Records that were skipped, for whatever reason.
    dropped_records: int = 0
    #: Input records that went through the topology.
    processed_records: int = 0
    #: Calls of punctuators.
    punctuations: int = 0
    #: Times the task gave up waiting for an empty partition (`max_task_idle`).
    enforced_processing: int = 0
