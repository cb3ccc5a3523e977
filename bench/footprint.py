"""What a process and all that it starts take: the peak of their memory, and their CPU time."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TypedDict

_TICKS = os.sysconf("SC_CLK_TCK")


class Taken(TypedDict):
    """Of all processes together."""

    peak_mb: float
    cpu_seconds: float


class Footprint(threading.Thread):
    """Looks at a process and its descendants twice a second. Shared pages count once (PSS).

    Args:
        root: the id of the process.
    """

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._known = {root}
        self._cpu: dict[int, float] = {}
        self._peak = 0.0
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            self._look()
            self._ended.wait(0.5)

    def finish(self) -> Taken:
        """Stop looking."""
        self._ended.set()
        self.join()
        return {"peak_mb": round(self._peak), "cpu_seconds": round(sum(self._cpu.values()), 2)}

    def _look(self) -> None:
        parents: dict[int, int] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:  # it ended meanwhile
                    continue
                process = int(entry.name)
                parents[process] = int(fields[1])
                if process in self._known:
                    self._cpu[process] = (int(fields[11]) + int(fields[12])) / _TICKS
        found = {process for process, parent in parents.items() if parent in self._known}
        while new := found - self._known:
            self._known |= new
            found = {process for process, parent in parents.items() if parent in self._known}
        self._peak = max(self._peak, sum(map(_megabytes, self._known & parents.keys())))


def _megabytes(process: int) -> float:
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1e3
    except OSError:  # it ended meanwhile
        pass
    return 0.0
