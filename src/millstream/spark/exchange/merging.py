"""Putting what came from several tasks into one order."""

from __future__ import annotations

from millstream.spark.exchange.parcels import Bundle, Parcel
from millstream.task.merging import by_time
from millstream.task.records import RawRecord


def merged(parcels: list[Parcel]) -> dict[tuple[str, int], list[RawRecord]]:
    """The records of all parcels by topic and partition, in the same order however tasks were spread over lanes."""
    bundles: dict[tuple[str, int], list[Bundle]] = {}
    for parcel in parcels:
        for bundle in parcel.bundles:
            bundles.setdefault((bundle.topic, bundle.partition), []).append(bundle)
    # Sorted: in which order parcels arrive is chance, and tasks take partitions with equal times in this order.
    return {place: _in_order(bundles[place]) for place in sorted(bundles)}


def _in_order(bundles: list[Bundle]) -> list[RawRecord]:
    return by_time([bundle.records for bundle in sorted(bundles, key=lambda bundle: bundle.origin)])
