"""Which way an application runs."""

from __future__ import annotations

from millstream.config import StreamsConfig
from millstream.spark.life import Life
from millstream.spark.runtimes.batches import BatchRuntime
from millstream.spark.runtimes.continuous import ContinuousRuntime
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
