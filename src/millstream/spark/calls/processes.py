"""Other processes of this machine."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def alive(process: int) -> bool:
    """Whether a process is there and runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    found = _status(process)
    # One that was killed and whose parent did not look yet is still there in name.
    return found is None or found[0] not in "ZX"


def stopped(process: int) -> bool:
    """Whether a process was stopped by a signal or a debugger."""
    found = _status(process)
    return found is not None and found[0] in "Tt"


def birth(process: int) -> str:
    """When a process was started, by the system's count; numbers of processes are used again. "-" if not known."""
    found = _status(process)
    return "-" if found is None else found[19]


def java_above() -> int | None:
    """The nearest Java process that this one descends from: the executor of a Python worker. None if not known."""
    process = os.getpid()
    while (found := _status(process)) is not None and (process := int(found[1])) > 0:
        try:
            program = Path(f"/proc/{process}/exe").readlink().name
        except OSError:
            return None
        if program == "java":
            return process
    return None


def ending(code: int) -> str:
    """How a process ended, in words, by what its parent was told."""
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"{name}: out of memory?" if -code == signal.SIGKILL else name


def _status(process: int) -> list[str] | None:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
