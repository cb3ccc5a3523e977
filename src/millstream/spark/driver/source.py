"""The streaming source: decides what a batch reads, and has lanes run its first wave."""

from __future__ import annotations

import atexit
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from millstream.spark.calls import client as lane_client
from millstream.spark.driver.control import Control
from millstream.spark.failures import told

if TYPE_CHECKING:
    # Spark loads this module in several processes, one after the other; only one of them asks Kafka.
    from millstream.spark.driver.admission import Admission
    from millstream.spark.program import Program

SCHEMA = "lane int, wave int, parcel binary"
FORMAT = "millstream"
#: How long a broker may take to answer before it counts as away; it is asked again.
_ANSWER_TIME = timedelta(seconds=10)


@dataclass(frozen=True)
class Run:
    """What a reader must know of a run without looking into the program.

    Args:
        id: names it.
        driver: process id of the driver, if lanes run on its machine.
    """

    id: str
    driver: int | None


class LaneInput(InputPartition):
    """What one lane does in wave 0 of a batch."""

    def __init__(self, lane: int, request: dict[str, Any]) -> None:
        super().__init__(lane)
        self.lane = lane
        self.request = request


def _without_the_jvm(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Say nothing when Spark closes the connection, which is how a query ends for its reader."""
    if not issubclass(kind, (EOFError, ConnectionError)):
        sys.__excepthook__(kind, error, trace)


class MillstreamSource(DataSource):
    """`spark.readStream.format("millstream")`; its one option is where the program lies."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return TopicsReader(
            Run(**json.loads(self.options["run"])),
            Path(self.options["program"]),
            Control(Path(self.options["control"])),
        )


class TopicsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the application's topics.

    Offsets are `{"batch": number, "now": milliseconds, "topics": {topic: {partition: offset}}, "globals": the same}`,
    `"from"`, the same, has the start of partitions that do not go on where the batch before ended, `"guaranteed"`
    where the next batch will not end before, and `"ids"` tells topics from those of the same name that were there
    before them.
    """

    def __init__(self, run: Run, program: Path, control: Control) -> None:
        self._run = run
        self._bytes = program.read_bytes()
        self._control = control
        # Only the driver's reader asks Kafka; the one that goes to workers stays small.
        self._lazy: tuple[Program, Admission] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lazy": None}

    def _parts(self) -> tuple[Program, Admission]:
        if self._lazy is None:
            from millstream.kafka.admin import Admin
            from millstream.spark.calls.label import label_of
            from millstream.spark.calls.run_directory import remove_if_left_over
            from millstream.spark.calls.shipping import unpacked
            from millstream.spark.driver.admission import Admission

            sys.excepthook = _without_the_jvm
            atexit.register(remove_if_left_over, self._control.directory)
            # This process is a child of Spark's JVM, which may be older than the driver: spark-submit's is.
            sys.path += [entry for entry in label_of(self._bytes).module_path if entry not in sys.path]
            program = unpacked(self._bytes)
            self._lazy = (program, Admission(program, Admin(program.config, timeout=_ANSWER_TIME), self._control))
        return self._lazy

    def initialOffset(self) -> dict[str, Any]:
        with told():
            return self._parts()[1].beginning()

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        with told():
            self._parts()[1].stop_at_what_is_there()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        with told():
            admission = self._parts()[1]
            if self._control.is_paused:  # paused, or closing
                self._control.tell_rests()
                time.sleep(0.02)
                return start
            return admission.next(start)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        if start == end:
            self._control.tell_requests([])
            return []
        from millstream.spark.state.markers import content_of

        program, admission = self._parts()
        with told():
            gone = admission.made_again(start, end)
        ranges: list[list[list[Any]]] = [[] for _ in range(program.lanes)]
        guaranteed: list[list[list[Any]]] = [[] for _ in range(program.lanes)]
        globals_ = [
            [topic, int(partition), offset]
            for topic, offsets in end.get("globals", {}).items()
            for partition, offset in offsets.items()
        ]
        content = content_of(end)
        membership = self._control.membership
        for topic, offsets in end["topics"].items():
            before = {**start.get("topics", {}).get(topic, {}), **end.get("from", {}).get(topic, {})}
            if topic in gone:
                before = offsets
            for partition, offset in offsets.items():
                lane = program.plan.reading_lane(topic, int(partition), program.lanes)
                ranges[lane].append([topic, int(partition), before[partition], offset])
                if partition in (promised := end.get("guaranteed", {}).get(topic, {})):
                    guaranteed[lane].append([topic, int(partition), promised[partition]])
        inputs = [
            LaneInput(
                lane,
                {
                    "batch": end["batch"],
                    "wave": 0,
                    "now": end["now"],
                    "ranges": ranges[lane],
                    "globals": globals_,
                    "parcels": [],
                    "guaranteed": guaranteed[lane],
                    "content": content,
                    "membership": membership,
                },
            )
            for lane in range(program.lanes)
        ]
        if self._run.driver is not None:
            return inputs
        # The driver knows where lanes are, and has them asked there.
        self._control.tell_requests([one.request for one in inputs])
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int, bytes]]:
        assert isinstance(partition, LaneInput)  # noqa: S101 - narrows the type
        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        yield from lane_client.call(
            self._run.id, partition.lane, self._run.driver, self._bytes, {**partition.request, "attempt": attempt}
        )

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: Spark says so only when the next batch begins. `latestOffset` hears of it earlier."""
