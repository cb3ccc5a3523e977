"""Which records enter which nodes, for a few records at a time.

Python itself tells of every call and, in functions that the task has written (`millstream.task.fused`), of every
line. So operators need no counters, and nothing is left of this once it is over; while it is on, a record takes many
times as long.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from millstream.processors.operator import Operator
from millstream.task.errors.failures import ENTRIES, is_fused
from millstream.task.runner import Runner

#: A trace ends after so many records of sources, entries of nodes, or seconds.
MOST_RECORDS: Final = 100
_MOST_ENTRIES: Final = 2_000
_MOST_SECONDS: Final = 0.005
#: Wherever it is then: a record may have a cache written down, with all that it holds.
_AT_MOST_SECONDS: Final = 0.02
#: How many records of each node are kept to be shown.
_LAST: Final = 5
_ARGUMENTS: Final = ("key", "value", "timestamp", "headers")
_LOOPS: Final = frozenset({Runner._drain.__code__, Runner._process.__code__})

#: A key, a value and a timestamp.
Entered = tuple[Any, Any, int]


class Trace:
    """Follows what this thread does from `begin` until it has seen enough, or to `end`.

    Args:
        progress: how far the work is; asked when it has seen enough.
    """

    def __init__(self, progress: Callable[[], int]) -> None:
        self._progress = progress
        #: How many records have entered each node.
        self.entries: Counter[str] = Counter()
        #: The last of them.
        self.last: dict[str, deque[Entered]] = {}
        #: How many records of sources that were.
        self.records = 0
        #: How far the work was when it had seen enough, and how long that took.
        self.done = 0
        self.seconds = 0.0
        self._is_over = False
        self._before: Any = None
        self._begun = 0.0
        # Python holds no reference of its own to what it calls: a method that `_stop` replaces must outlive its call.
        self._on_call, self._on_line = self._called, self._line

    def begin(self) -> None:
        """Look from now on; once is enough."""
        if self._begun:
            return
        self._before = sys.gettrace()  # a debugger's, or one that measures coverage
        self._begun = time.perf_counter()
        sys.settrace(self._on_call)

    def end(self) -> None:
        """Look no more."""
        if self._begun and not self._is_over:
            self._stop()

    def _called(self, frame: FrameType, event: str, argument: Any) -> Any:
        if time.perf_counter() > self._begun + _AT_MOST_SECONDS:
            return self._stop()
        try:
            return self._entered(frame)
        except Exception:  # who is only looked at must not fail for it
            return self._stop()

    def _entered(self, frame: FrameType) -> Any:
        caller = frame.f_back
        if caller is not None and caller.f_code in _LOOPS and _is_forward(frame):
            if self.records == MOST_RECORDS or self._is_enough():
                return self._stop()
            self.records += 1
            self._enter(caller.f_locals["queue"].source.name, *_record(frame))
        if not _is_forward(frame):
            return None
        # A record of a source is followed to its end, unless that does not come.
        if self.entries.total() >= _MOST_ENTRIES or (not self.records and self._is_enough()):
            return self._stop()
        if is_fused(frame):
            return self._on_line
        owner = frame.f_locals.get("self")
        if isinstance(owner, Operator) and not _is_counted(caller, owner):
            self._enter(owner.name, *_record(frame))
        return None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line" and not self._is_over:
            for node, key, value in frame.f_globals[ENTRIES].get(frame.f_lineno, ()):
                names = frame.f_locals
                self._enter(node, names.get(key), names.get(value), names["timestamp"])
        return self._on_line

    def _enter(self, node: str, key: Any, value: Any, timestamp: int) -> None:
        self.entries[node] += 1
        last = self.last.get(node)
        if last is None:
            last = self.last[node] = deque(maxlen=_LAST)
        last.append((key, value, timestamp))

    def _is_enough(self) -> bool:
        return time.perf_counter() > self._begun + _MOST_SECONDS

    def _stop(self) -> None:
        self._is_over = True
        sys.settrace(self._before)
        self.seconds = time.perf_counter() - self._begun
        self.done = self._progress()


def _is_forward(frame: FrameType) -> bool:
    """Whether a function takes a record as operators do, by its arguments; none of the user's is called so."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount]
    return names == _ARGUMENTS or names[1:] == _ARGUMENTS


def _record(frame: FrameType) -> Entered:
    names = frame.f_locals
    return names["key"], names["value"], names["timestamp"]


def _is_counted(caller: FrameType | None, owner: Operator) -> bool:
    """Whether an operator has the record already: it calls itself, or its work is written into the caller."""
    if caller is None:
        return False
    if is_fused(caller):
        return any(node == owner.name for found in caller.f_globals[ENTRIES].values() for node, _, _ in found)
    return caller.f_locals.get("self") is owner
