"""Which way an application runs."""

from __future__ import annotations

from millstream.config import StreamsConfig
from millstream.spark.driver.statistics import Statistics
from millstream.spark.life import Life
from millstream.spark.numbers import Numbers
from millstream.spark.runtimes.batches import BatchRuntime
from millstream.spark.runtimes.continuous import ContinuousRuntime
from millstream.spark.runtimes.lane_statistics import LaneStatistics
from millstream.spark.runtimes.runtime import Runtime
from millstream.topology.topology import Topology


def runtime_for(topology: Topology, config: StreamsConfig, life: Life) -> Runtime:
    """The way that the configuration says.

    Args:
        topology: what to run.
        config: how and where.
        life: where the application is in its life.
    """
    if config.processing_mode == "continuous":
        return ContinuousRuntime(topology, config, life)
    return BatchRuntime(topology, config, life)


def numbers_before(config: StreamsConfig) -> Numbers:
    """What is counted of an application that was not started yet: nothing, by the same names."""
    return LaneStatistics() if config.processing_mode == "continuous" else Statistics(lambda: 0)
