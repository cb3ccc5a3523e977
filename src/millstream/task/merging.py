"""Putting records that came from several tasks into one order."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np

from millstream.task.records import RawRecord

_TIME = itemgetter(2)


def by_time(sequences: Sequence[list[RawRecord]]) -> list[RawRecord]:
    """One sequence of several: by time, so that no origin's records look late only because they came second.

    Each origin's records stay in their order; for that, a record counts as late as the latest before it.
    """
    if len(sequences) == 1:
        return sequences[0]
    records: list[RawRecord] = []
    times = []
    for sequence in sequences:
        records += sequence
        times.append(np.maximum.accumulate(np.fromiter(map(_TIME, sequence), np.int64, len(sequence))))
    order = np.argsort(np.concatenate(times), kind="stable")
    return list(map(records.__getitem__, order.tolist()))
