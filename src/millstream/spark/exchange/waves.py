"""The waves after the first: what Spark's exchange brings a lane, the lane takes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from millstream.spark.calls import client as lane_client
from millstream.spark.exchange.handover import is_by_file
from millstream.spark.exchange.parcels import unpack


def wave_function(
    wave: int, run_id: str, driver: int | None, program: bytes
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark maps over the partitions of a wave; partitions are lanes."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        lane = 0 if context is None else context.partitionId()
        mine: list[bytes] = []
        rows: list[tuple[int, int, bytes]] = []
        for batch in batches:
            for key, to_wave, parcel in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if to_wave == wave:
                    mine.append(parcel)
                else:
                    rows.append((key, to_wave, parcel))
        if mine:
            # Each lane sends itself one without records for every wave, which is never a file.
            head = unpack(min((parcel for parcel in mine if not is_by_file(parcel)), key=len))
            request = {
                "batch": head.batch,
                "wave": wave,
                "now": head.now,
                "attempt": 0 if context is None else context.attemptNumber(),
                "ranges": [],
                "globals": [],
                "parcels": mine,
                "guaranteed": [],
                "content": head.content,
                "membership": head.membership,
            }
            results = lane_client.call(run_id, lane, driver, program, request)
            rows += results
        if rows:
            lanes, waves, parcels = zip(*rows, strict=True)
            yield pa.RecordBatch.from_arrays(
                [pa.array(lanes, pa.int32()), pa.array(waves, pa.int32()), pa.array(parcels, pa.binary())],
                names=["lane", "wave", "parcel"],
            )

    return run
