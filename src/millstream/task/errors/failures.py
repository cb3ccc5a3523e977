"""Turning an exception that came out of the topology into one that says where it came from."""

from __future__ import annotations

import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final

from millstream.errors import MillstreamError, ProcessingError
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator

#: What file names of generated functions begin with (`millstream.task.fused`).
GENERATED: Final = "<millstream "
#: The name in such a function's namespace under which lines are mapped to nodes.
NODES: Final = "__nodes__"
#: The same for lines at which a record enters nodes: for each, its name and those of the variables with key and value.
ENTRIES: Final = "__entries__"

_PACKAGE = str(Path(__file__).parents[2])
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def is_fused(frame: FrameType) -> bool:
    """Whether it is one of a function that the task has written; there are other generated ones, of SQL."""
    return frame.f_code.co_filename.startswith(GENERATED) and NODES in frame.f_globals


def failing_node(error: BaseException, operators: Mapping[str, Operator]) -> str | None:
    """The name of the innermost node that was at work when the error was raised."""
    found = None
    for frame, line in _frames(error.__traceback__):
        if is_fused(frame):
            found = frame.f_globals[NODES].get(line, found)
            continue
        owner = frame.f_locals.get("self")
        if isinstance(owner, Operator) and operators.get(owner.name) is owner:
            found = owner.name
    return found


def user_function(error: BaseException) -> str | None:
    """The function outside of Millstream that raised: `<lambda> at orders.py:14`.

    The user's own functions are preferred to library functions they called.
    """
    own = library = None
    for frame, line in _frames(error.__traceback__):
        code = frame.f_code
        if code.co_filename.startswith((_PACKAGE, GENERATED)):
            continue
        name = code.co_qualname.rsplit("<locals>.", 1)[-1]
        text = f"{name} at {Path(code.co_filename).name}:{line}"
        if code.co_filename.startswith(_LIBRARIES) or code.co_filename.startswith("<frozen"):
            library = text
        else:
            own = text
    return own or library


def processing_error(
    error: Exception, what: str, node: str | None, context: TaskContext, primary: str | None = None
) -> ProcessingError:
    """The error to raise instead, with the original as its cause.

    Args:
        error: what was raised.
        what: what the task was doing: process, punctuate, commit.
        node: the node that raised.
        context: where the task is.
        primary: overrides the first line.
    """
    function = user_function(error)
    where = f"node '{node or 'unknown'}' of task {context.task_id}"
    if context.topic is not None:
        where += f", at topic '{context.topic}', partition {context.partition}, offset {context.offset}"
    reason = error.primary if isinstance(error, MillstreamError) else str(error)
    raised = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
    result = ProcessingError(
        primary or f"exception caught in {what}",
        detail=f"{where}; {'raised by ' + function + ': ' if function else ''}{raised}",
        hint=(error.hint if isinstance(error, MillstreamError) else None)
        or "handle it there, or skip such records with a processing_exception_handler",
    )
    result.__cause__ = error
    return result


def _frames(traceback: TracebackType | None) -> list[tuple[FrameType, int]]:
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return frames
