"""What PySpark does not offer, and Spark does: partitions with places, and an exchange that does not move them.

Spark has a task run where the first of its parents wants it. `located` has such wishes, one executor per partition. An
exchange has none of its own: read together with it, by `exchanged`, its other side is where the places are.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import RDD, SparkContext
from pyspark.core.rdd import PipelinedRDD
from pyspark.serializers import NoOpSerializer

from millstream.spark.placing.places import Executor

_NUMBER = struct.Struct(">q")


def executors_of(context: SparkContext) -> list[Executor]:
    """Those that live now; Spark counts its driver among them."""
    listed = context._jsc.sc().statusStore().executorList(True)  # active ones
    found = [listed.apply(number) for number in range(listed.size())]
    placed = [
        Executor(str(one.id()), str(one.hostPort()).rpartition(":")[0], int(one.totalCores()))
        for one in found
        if str(one.id()) != "driver"
    ]
    return [one for one in placed if one.host and one.cores]  # the others are still on their way


def located(context: SparkContext, places: Sequence[Executor | None]) -> RDD[bytes]:
    """A partition for each place, which Spark computes there if it can, with one element for each of them.

    Args:
        context: Spark.
        places: an executor each; None is anywhere.
    """
    jvm: Any = context._jvm
    wishes = {
        number: jvm.PythonUtils.toSeq([f"executor_{one.host}_{one.id}"])
        for number, one in enumerate(places)
        if one is not None
    }
    made = jvm.org.apache.spark.rdd.ParallelCollectionRDD(
        context._jsc.sc(),
        jvm.PythonUtils.toSeq(jvm.java.util.Collections.nCopies(len(places) ** 2, bytearray(1))),
        len(places),
        jvm.PythonUtils.toScalaMap(wishes),
        context._jsc.emptyRDD().classTag(),  # of anything
    )
    return RDD(made.toJavaRDD(), context, NoOpSerializer())


def exchanged(
    sent: RDD[Any], function: Callable[[int, Iterable[Any]], list[bytes]], places: RDD[bytes]
) -> RDD[tuple[bytes, bytes]]:
    """What each partition has for each other one, at the places of the others, as the second of each pair.

    Args:
        sent: what is computed from.
        function: of a partition's number and its elements: what it sends, one element for each partition.
        places: where the others are.
    """
    context, count = sent.context, places.getNumPartitions()
    jvm: Any = context._jvm
    pairs = jvm.PairwiseRDD(_raw(sent, _Addressed(function))._jrdd.rdd()).asJavaPairRDD()
    shuffled = jvm.PythonRDD.valueOfPair(pairs.partitionBy(jvm.PythonPartitioner(count, 0)))
    # Spark reads two things together if they have the same number of elements.
    return places.zip(RDD(shuffled, context, NoOpSerializer()))


@dataclass(frozen=True)
class _Addressed:
    """What a partition sends, each element behind the number of the partition that it is for."""

    function: Callable[[int, Iterable[Any]], list[bytes]]

    def __call__(self, number: int, elements: Iterable[Any]) -> Iterator[bytes]:
        for to, data in enumerate(self.function(number, elements)):
            yield _NUMBER.pack(to)
            yield data


def read_up(elements: Iterable[bytes]) -> None:
    """Read what nobody needs: else Spark would end its Python worker, and start another one for the next task."""
    for _ in elements:
        pass


def _raw(parent: RDD[Any], function: Callable[[int, Iterable[Any]], Iterator[bytes]]) -> RDD[bytes]:
    """What a function makes of each partition: bytes, which go to Spark as they are."""
    made: PipelinedRDD[Any, bytes] = PipelinedRDD(parent, function)
    made._bypass_serializer = True
    made._jrdd_deserializer = NoOpSerializer()
    return made
