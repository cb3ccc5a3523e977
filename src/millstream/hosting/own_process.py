"""What suits a process that does nothing but run a lane, and that Python does not do by itself."""

from __future__ import annotations

import sys

#: Larger blocks of memory are returned to the system at once: what glibc comes to by itself as soon as a program frees
#: a block of that size.
_LARGEST_BLOCK = 31 << 20
#: How long a thread may keep the interpreter while others wait for it.
_SWITCH_SECONDS = 0.0005


def settle_in() -> None:
    """Keep what is freed for the next record, and let other threads have their turn soon.

    Until it has freed a large block, glibc returns the end of its heap to the system whenever more than 128 kB of it
    are free, and gets it back for the next record: half of the time that the records of a stream-table join take.

    The thread that processes never waits; those that make tasks need the interpreter a hundred times for a moment, and
    wait for it each time for as long as Python's switch interval, 5 milliseconds unless it is set.
    """
    bytes(_LARGEST_BLOCK)  # not touched, so that it costs nothing, and freed at once
    sys.setswitchinterval(_SWITCH_SECONDS)
