"""Putting what came from several tasks into one order."""

from __future__ import annotations

from operator import itemgetter

import numpy as np

from millstream.spark.exchange.parcels import Bundle, Parcel
from millstream.task.records import RawRecord

_TIME = itemgetter(2)


def merged(parcels: list[Parcel]) -> dict[tuple[str, int], list[RawRecord]]:
    """The records of all parcels by topic and partition, in the same order however tasks were spread over lanes."""
    bundles: dict[tuple[str, int], list[Bundle]] = {}
    for parcel in parcels:
        for bundle in parcel.bundles:
            bundles.setdefault((bundle.topic, bundle.partition), []).append(bundle)
    # Sorted: in which order parcels arrive is chance, and tasks take partitions with equal times in this order.
    return {place: _by_time(bundles[place]) for place in sorted(bundles)}


def _by_time(bundles: list[Bundle]) -> list[RawRecord]:
    """One sequence of several: by time, so that no origin's records look late only because they came second.

    Each origin's records stay in their order; for that, a record counts as late as the latest before it.
    """
    if len(bundles) == 1:
        return bundles[0].records
    bundles.sort(key=lambda bundle: bundle.origin)
    records: list[RawRecord] = []
    times = []
    for bundle in bundles:
        records += bundle.records
        times.append(np.maximum.accumulate(np.fromiter(map(_TIME, bundle.records), np.int64, len(bundle.records))))
    order = np.argsort(np.concatenate(times), kind="stable")
    return list(map(records.__getitem__, order.tolist()))
