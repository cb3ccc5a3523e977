"""The waves after the first: what Spark's exchange brings a lane, the lane takes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from millstream.spark.calls import client as lane_client
from millstream.spark.exchange.handover import is_by_file
from millstream.spark.exchange.parcels import unpack

#: A parcel, with the lane and the wave that it is for.
Row = tuple[int, int, bytes]


def wave_function(
    wave: int, run_id: str, driver: int | None, program: bytes
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark maps over the partitions of a wave; partitions are lanes."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        lane = 0 if context is None else context.partitionId()
        attempt = 0 if context is None else context.attemptNumber()
        received = [
            row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        rows = run_wave(
            wave, received, attempt, lambda request: lane_client.call(run_id, lane, driver, program, request)
        )
        if rows:
            lanes, waves, parcels = zip(*rows, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(lanes, pa.int32()), pa.array(waves, pa.int32()), pa.array(parcels, pa.binary())],
                names=["lane", "wave", "parcel"],
            )

    return run


def run_wave(
    wave: int, received: Iterable[Row], attempt: int, call: Callable[[dict[str, Any]], list[Row]]
) -> list[Row]:
    """Have a lane do a wave; what it sends on, and what it received for later ones.

    Args:
        wave: its number.
        received: what came for the lane.
        attempt: how often Spark has tried before.
        call: asks the lane.
    """
    mine: list[bytes] = []
    rows: list[Row] = []
    for row in received:
        if row[1] == wave:
            mine.append(row[2])
        else:
            rows.append(row)
    if mine:
        # Each lane sends itself one without records for every wave, which is never a file.
        head = unpack(min((parcel for parcel in mine if not is_by_file(parcel)), key=len))
        rows += call(
            {
                "batch": head.batch,
                "wave": wave,
                "now": head.now,
                "attempt": attempt,
                "ranges": [],
                "globals": [],
                "parcels": mine,
                "guaranteed": [],
                "content": head.content,
                "membership": head.membership,
            }
        )
    return rows
