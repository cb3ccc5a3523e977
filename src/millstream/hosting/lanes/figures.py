"""What a lane tells of a query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from millstream.hosting.lanes.keeping import KnownQuery
from millstream.hosting.lanes.messages import Figures
from millstream.hosting.lanes.reading.inputs import Inputs


def figures_of(known: KnownQuery, inputs: Inputs, standbys: Mapping[str, int], *, is_settled: bool) -> Figures:
    """The figures of a query, but for those of the whole lane.

    Args:
        known: the query, and its tasks that are here.
        inputs: what they read.
        standbys: what the lane has in reserve of the query, see `Figures`.
        is_settled: it has all tasks that it should have now.
    """
    positions: dict[str, int] = {}
    lags: dict[str, int] = {}
    reached: dict[str, int] = {}
    for task in known.tasks.values():
        done = not task.is_dirty and not task.has_records
        for (topic, partition), at in task.positions.items():
            name = f"{topic}-{partition}"
            positions[name] = at
            lags[name] = inputs.lag(task, (topic, partition), at)
            end = inputs.reached(task, (topic, partition)) if done else None
            if end is not None:
                reached[name] = end
    tasks = known.tasks.values()
    return Figures(
        known.query.id,
        tuple(task_id.name for task_id in known.tasks),
        sum(task.processed for task in tasks),
        sum(task.dropped for task in tasks),
        positions,
        lags,
        {task_id.name: round(known.restored.get(task_id, 0.0), 2) for task_id in known.making},
        is_settled,
        reached,
        counted=dict(sum((Counter(task.counted()) for task in tasks), known.counted)),
        details={task.id.name: task.details() for task in tasks},
        is_paused=known.is_paused,
        standbys=standbys,
    )
