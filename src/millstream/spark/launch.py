"""Getting an application ready to run, and starting its query."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.changelogs import changelogs_of, new_topics
from millstream.config import StreamsConfig
from millstream.errors import CheckpointDamaged, StreamsError
from millstream.hosting.lanes.notes import slots_topic
from millstream.hosting.producing.written import made_topics, written_topics
from millstream.kafka.admin import Admin
from millstream.kafka.topics import progress_topic
from millstream.spark.calls import client as lane_client
from millstream.spark.calls import onlookers
from millstream.spark.calls.dismissal import dismiss
from millstream.spark.calls.run_directory import drivers_directory
from millstream.spark.calls.shipping import PROGRAM, shipped
from millstream.spark.driver.agreement import Known, SparkLog, check_known, progress_of
from millstream.spark.driver.control import Control, LastBatch
from millstream.spark.driver.lane_logs import LaneLogs
from millstream.spark.driver.ownership import Ownership
from millstream.spark.driver.recovery import adopt, find_origin, shut_out
from millstream.spark.driver.source import FORMAT, SCHEMA, MillstreamSource, Run
from millstream.spark.driver.statistics import Statistics
from millstream.spark.exchange.parcels import unpack
from millstream.spark.exchange.waves import Row, wave_function
from millstream.spark.placing.batch import PlacedBatches
from millstream.spark.plan import Plan
from millstream.spark.program import Program
from millstream.spark.startup.cluster import check_checkpoint, wait_for_executors
from millstream.spark.startup.session import is_here, lanes_of
from millstream.spark.state.checkpoint import Checkpoint, Remembered, checkpoint_location, run_name
from millstream.spark.state.origin import Origin
from millstream.spark.state.storage import spark_url
from millstream.task.watching.watch import Seen
from millstream.topology.nodes import SourceNode
from millstream.topology.topology import Topology

log = logging.getLogger("millstream.client")


@dataclass
class Launched:
    """An application that is ready: what it is, and where its run keeps its small files."""

    program: Program
    session: SparkSession
    directory: Path
    control: Control
    #: What lanes print and log; where they are on other machines, it stays there.
    logs: LaneLogs

    def remove(self) -> None:
        """End the lanes, show what they say at that, and leave nothing behind."""
        self.logs.show()
        dismiss(self.directory, 0 if self.program.driver is None else self.program.lanes)
        self.logs.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def look(self) -> list[Seen]:
        """What lanes on this machine have seen of the topology's nodes lately; they look for some seconds more."""
        return onlookers.look(self.directory, self.program.lanes)

    @property
    def lanes(self) -> dict[int, list[str]]:
        """The names of the tasks in each lane."""
        plan, count = self.program.plan, self.program.lanes
        return {lane: [task_id.name for task_id in plan.tasks_of_lane(lane, count)] for lane in range(count)}

    def start_query(self, statistics: Statistics, ownership: Ownership, *, once: bool) -> StreamingQuery:
        """Start the streaming query."""
        program = self.program
        ownership.publish(self.control.membership_path)
        self.session.dataSource.register(MillstreamSource)
        frame = (
            self.session.readStream.format(FORMAT)
            .option("program", str(self.directory / PROGRAM))
            .option("control", str(self.directory))
            .option("run", json.dumps(asdict(Run(program.run_id, program.driver))))
            .load()
        )
        run: Callable[[DataFrame], list[Row]]
        if program.driver is None:
            run = partial(self._run_placed, self._placed)
        else:
            run = _collected
            pickled = (self.directory / PROGRAM).read_bytes()
            for wave in range(1, program.plan.waves):
                function = wave_function(wave, program.run_id, program.driver, pickled)
                frame = frame.repartitionById(program.lanes, "lane").mapInArrow(function, SCHEMA)

        def finish(batch: DataFrame, batch_id: int) -> None:
            started = time.perf_counter()
            parcels = [unpack(parcel) for _, wave, parcel in run(batch) if wave == -1]
            reports = [parcel.statistics for parcel in parcels]
            statistics.add(reports, time.perf_counter() - started)
            ownership.commit(progress_of(program, reports))
            self.control.tell_last(LastBatch(statistics.lane_seconds, statistics.record_bytes))
            self.control.tell_due(statistics.next_due())

        writer = (
            frame.writeStream.queryName(f"{program.config.application_id}-{program.run_id}")
            .option("checkpointLocation", f"{spark_url(program.checkpoint)}/spark")
            .foreachBatch(finish)
        )
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
        return writer.start()

    @cached_property
    def _placed(self) -> PlacedBatches:
        """How batches are run on a cluster, where lanes would move if Spark decided alone. The same for all queries."""
        program = self.program
        placed = PlacedBatches(
            self.session.sparkContext,
            program.run_id,
            (self.directory / PROGRAM).read_bytes(),
            lanes=program.lanes,
            waves=program.plan.waves,
            most_moves=program.config.max_warmup_replicas,
        )
        placed.warm_up()
        return placed

    def _run_placed(self, placed: PlacedBatches, _: DataFrame) -> list[Row]:
        """Run a batch there: Spark has planned it, and has nothing to read in it."""
        requests = self.control.take_requests()
        if requests is None:
            raise AssertionError("a batch that was not planned")
        return placed.run(requests)


def _collected(batch: DataFrame) -> list[Row]:
    """How a batch is run on this machine: its lanes are asked as it is read."""
    return [(row.lane, row.wave, bytes(row.parcel)) for row in batch.collect()]


def ask_for_ownership(config: StreamsConfig) -> Ownership:
    """Begin to ask for the ownership of an application, with the id of its checkpoint, or of the one to be made."""
    checkpoint = Checkpoint(checkpoint_location(config), config.spark)
    known = None
    with contextlib.suppress(CheckpointDamaged):  # another one is made, by the owner
        known = checkpoint.known_id()
    if known is not None:
        return Ownership(config, known)
    return Ownership(config, uuid.uuid4().hex[:12], checkpoint.known_id)


def launch(topology: Topology, config: StreamsConfig, session: SparkSession, ownership: Ownership) -> Launched:
    """Check and prepare everything that is outside of the query: topics, checkpoint, what earlier runs left.

    Args:
        topology: what to run.
        config: how and where.
        session: Spark.
        ownership: this copy of the application is its owner.

    Raises:
        MillstreamError: something is missing or does not fit.
    """
    with contextlib.closing(Admin(config)) as admin:
        admin.wait_until_available()
        external = external_topics(topology, config, admin)
        if slots_topic(config.application_id).name in external:
            raise StreamsError(
                f"application '{config.application_id}' has run continuously before",
                detail="where it stands is in Kafka, and not in a checkpoint; processing_mode is 'micro_batch' now",
                hint="set processing_mode to 'continuous', begin anew with `millstream reset`, or take another "
                "application_id",
            )
        plan = Plan(topology, external)
        here = is_here(str(session.sparkContext.master))
        if not here:
            wait_for_executors(session)
            check_checkpoint(session, checkpoint_location(config), config.spark)
        lanes = min(lanes_of(session), max(1, len(plan.tasks)))
        checkpoint = Checkpoint(checkpoint_location(config), config.spark)
        remembered = checkpoint.compare(config.application_id, topology, plan, lanes, ownership.checkpoint)
        run_id = run_name(config.application_id, uuid.uuid4().hex)
        # Elsewhere the driver's number means nothing.
        driver = os.getpid() if here else None
        program = Program(
            run_id,
            topology,
            plan,
            config,
            lanes,
            checkpoint.location,
            driver,
            remembered.id,
            remembered.markers,
            changelogs_of(topology, config.application_id),
        )
        program = _agreed(program, remembered, checkpoint, ownership, admin)
    if remembered.moved:  # their lanes do not shut out those they had before
        shut_out(program, remembered.lanes)
    directory = drivers_directory(run_id)
    pickled = shipped(program)
    (directory / PROGRAM).write_bytes(pickled)
    if driver is not None:
        lane_client.warm_up(run_id, lanes, driver, pickled)
    logs = LaneLogs(directory, 0 if driver is None else lanes)
    return Launched(program, session, directory, Control(directory), logs)


def _agreed(
    program: Program, remembered: Remembered, checkpoint: Checkpoint, ownership: Ownership, admin: Admin
) -> Program:
    """Have the application's own topics, and see that Kafka and the checkpoint belong together."""
    admin.ensure_topic(progress_topic(program.progress_topic, max(1, len(remembered.markers))))
    partitions = admin.partition_counts([program.progress_topic])[program.progress_topic]
    tasks = {part.id: part.partitions for part in program.plan.parts.values()}
    topics = new_topics(program.changelogs, program.topology, program.config, tasks)
    origin = None if remembered.is_new else Origin.read(checkpoint)
    spark_log = SparkLog.read(program.checkpoint, program.config.spark)
    if origin is not None and spark_log.latest is None:
        # It was rebuilt, and nothing was done with it since then: others may have, if they were quicker.
        begins = origin.before in Known.read(program, ownership, partitions).checkpoints
    else:
        begins = remembered.is_new
    if begins:
        origin = find_origin(program, ownership, admin, partitions, wanted=[topic.name for topic in topics])
        if origin is not None:
            origin.write(checkpoint)
    admin.create_topics(topics)
    program = replace(program, origin=origin, whole=_whole(program, remembered, admin))
    if not begins:
        check_known(program, spark_log, Known.read(program, ownership, partitions))
    checkpoint.remember(remembered, program.whole)
    if begins and origin is not None:
        adopt(program, ownership, partitions)
    return program


def _whole(program: Program, remembered: Remembered, admin: Admin) -> dict[str, str]:
    """The ids of the changelogs that have all changes of their stores; the others are told."""
    ids = admin.topic_ids({log.topic for log in program.changelogs.values()})
    whole = remembered.whole({store: ids.get(log.topic, "") for store, log in program.changelogs.items()})
    for store in program.changelogs.keys() - whole.keys():
        log.warning(
            "the changelog of store '%s' was made when the store had something in it: it cannot be rebuilt from Kafka "
            "alone, so keep the checkpoint",
            store,
        )
    return whole


def external_topics(topology: Topology, config: StreamsConfig, admin: Admin) -> dict[str, int]:
    """The partitions of all topics on the broker that the topology reads or writes by name."""
    known = admin.topics()
    wanted: dict[str, str] = {}
    for node in topology.nodes.values():
        if isinstance(node, SourceNode):
            wanted.update({topic: node.name for topic in node.topics if topic not in topology.internal_topics})
    missing = {topic: node for topic, node in wanted.items() if topic not in known}
    if missing:
        listed = ", ".join(f"'{topic}' (read by '{node}')" for topic, node in sorted(missing.items()))
        raise StreamsError(
            "source topics are missing",
            detail=listed,
            hint="create them, for instance with: millstream topics create NAME --partitions 4",
        )
    return known | made_topics(written_topics(topology, config), known, admin)
