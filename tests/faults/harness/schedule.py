"""What happens in a run: all of it follows from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import get_args

from millstream.config import ProcessingMode

from .faults import FAULTS, Fault, can_fill_disks

_CLUSTER = "local-cluster[2,1,1024]"
#: How often lanes stand by for each other, of the runs in which they can.
_STANDING_BY = 0.4


@dataclass(frozen=True)
class Schedule:
    """A run that is to be."""

    seed: int
    faults: tuple[Fault, ...]
    master: str
    stores: str
    caching: bool
    #: Whether failures are met in the process instead of by its supervisor.
    replace: bool
    #: How many numbers come before the feed slows down; each is three records.
    records: int
    rate: float
    #: Whether a fault may strike before the application has recovered from the one before.
    overlapping: bool = True
    mode: ProcessingMode = "micro_batch"
    #: How many lanes have each task in reserve.
    standbys: int = 0


def schedule(seed: int, *, only: str | None = None, mode: ProcessingMode | None = None, peer: bool = False) -> Schedule:
    """The schedule of a seed.

    Args:
        seed: which one.
        only: a part of the names of the faults there may be; None is all.
        mode: how the application works; the seed says it unless given.
        peer: for Kafka Streams, which has no such modes.

    Raises:
        ValueError: there are no such faults.
    """
    modes: tuple[ProcessingMode, ...] = get_args(ProcessingMode)
    how = random.Random(f"mode {seed}").choice(modes) if mode is None else mode
    chance = random.Random(seed)
    cluster = not peer and (only == "kill executor" or chance.random() < 0.2)
    possible = [
        fault
        for fault in FAULTS
        if (fault.for_peer if peer else how in fault.modes)
        and (cluster or not fault.needs_cluster)
        and (only is None or only in fault.name)
    ]
    if not possible:
        raise ValueError(f"there is no fault '{only}' for {'Kafka Streams' if peer else how}")
    chosen = chance.choices(possible, [fault.weight for fault in possible], k=chance.randint(1, 4))
    # Not before: a seed gives the same to everybody, but for what he cannot do.
    chosen = [fault for fault in chosen if can_fill_disks() or not fault.needs_disk]
    # Some change what all the others would be measured by.
    alone = [fault for fault in chosen if fault.alone]
    return Schedule(
        seed=seed,
        faults=tuple(alone[:1] or chosen),
        master=_CLUSTER if cluster else "local[2]",
        stores=chance.choice(("rocksdb", "memory")),
        caching=chance.random() < 0.15,
        replace=chance.random() < 0.5,
        records=chance.randint(500, 1_300),
        rate=chance.choice((150.0, 300.0, 600.0)),
        mode=how,
        standbys=int(not peer and how == "continuous" and random.Random(f"standbys {seed}").random() < _STANDING_BY),
    )
