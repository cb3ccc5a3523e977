"""Other processes of this machine."""

from __future__ import annotations

import os
from pathlib import Path


def alive(process: int) -> bool:
    """Whether a process is there and runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        # One that was killed and whose parent did not look yet is still there in name.
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return True
