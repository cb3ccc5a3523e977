"""A small job and a small query that go the ways of applications, without Kafka: the JVM then knows their classes.

python -m millstream.spark.startup.rehearsal JVM-OPTION...
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.config import StreamsConfig
from millstream.spark.driver.source import SCHEMA
from millstream.spark.startup.masters import QUICK_JVM
from millstream.spark.startup.session import spark_session

_FORMAT = "rehearsal"
_BATCHES = 3


class Rehearsal(DataSource):
    """A source with a few rows."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _Reader()


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def initialOffset(self) -> dict[str, Any]:
        return {"batch": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        pass

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return {"batch": min(_BATCHES, start["batch"] + 1)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [InputPartition(0), InputPartition(1)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int, bytes]]:
        yield 0, 0, b"parcel"


def _rehearse(options: list[str], directory: str) -> None:
    jvm = " ".join([QUICK_JVM, *options])
    config = StreamsConfig(
        processing_mode="micro_batch",
        num_stream_threads=2,
        state_dir=directory,
        spark={"spark.driver.extraJavaOptions": jvm},
    )
    session = spark_session(config)
    session.sparkContext.parallelize(range(2), 2).mapPartitionsWithIndex(lambda lane, _: [lane]).count()
    session.dataSource.register(Rehearsal)
    frame = session.readStream.format(_FORMAT).load()
    frame = frame.repartition(2, "lane").mapInArrow(lambda batches: batches, SCHEMA)

    def finish(batch: DataFrame, batch_id: int) -> None:
        batch.collect()

    writer = frame.writeStream.option("checkpointLocation", directory).foreachBatch(finish)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    jvm_process = session.sparkContext._gateway.proc  # type: ignore[union-attr]
    session.stop()
    jvm_process.stdin.close()  # which ends it
    jvm_process.wait()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        _rehearse(sys.argv[1:], directory)
