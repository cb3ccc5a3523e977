"""Which node a thread is at, by its frames."""

from __future__ import annotations

from types import FrameType
from typing import Final, NamedTuple

from millstream.processors.operator import Operator
from millstream.task.errors.failures import NODES, is_fused
from millstream.task.runner import Runner
from millstream.task.task import Task

_LOOPS: Final = frozenset({Runner._drain.__code__, Runner._process.__code__, Runner._merge.__code__})


class Moment(NamedTuple):
    """Where a thread is.

    Args:
        application: whose task it is in.
        node: the node whose work it does, also in stores and serdes; None between nodes, as in a commit.
    """

    application: str
    node: str | None


def moment(frame: FrameType | None) -> Moment | None:
    """Where a thread is; None if it is in no task."""
    node = None
    while frame is not None:
        code = frame.f_code
        if node is None and is_fused(frame):
            node = frame.f_globals[NODES].get(frame.f_lineno)
        elif node is None and code in _LOOPS:
            node = frame.f_locals["queue"].source.name  # it reads, and turns bytes into objects
        else:
            owner = frame.f_locals.get("self")
            if isinstance(owner, Task):
                context = getattr(owner, "context", None)  # none yet if the task is being made
                return None if context is None else Moment(context.application_id, node)
            if node is None and isinstance(owner, Operator):
                node = owner.name
        frame = frame.f_back
    return None
