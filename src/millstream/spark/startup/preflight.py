"""What can be found wrong before Spark starts, which takes seconds and says things in its own way."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.config import StreamsConfig
from millstream.jvm.java import find_java
from millstream.spark.calls.unshippable import check_shippable
from millstream.spark.driver.metrics import check_port
from millstream.spark.startup.connect import refuse_connect
from millstream.task.serdes import node_serdes, store_with_serdes
from millstream.task.stores import store_topic, used_stores
from millstream.topology.nodes import ProcessorNode
from millstream.topology.topology import Topology
from millstream.topology.wrapping import check_wrapped


def check(topology: Topology, config: StreamsConfig) -> None:
    """Refuse an application that cannot run: no Java, no serdes, a port in use, functions that cannot be sent.

    Raises:
        MillstreamError: says what is missing.
    """
    check_java()
    check_serdes(topology, config)
    check_port(config)
    check_shippable(topology, config)


def check_java() -> None:
    """Refuse to start Spark without Java, or as Spark Connect; a session that runs has a Java.

    Raises:
        MillstreamError: there is none, or it is too old.
    """
    refuse_connect()
    if SparkSession.getActiveSession() is None:
        find_java()


def check_serdes(topology: Topology, config: StreamsConfig) -> None:
    """Find the serdes of all sources, sinks and stores, as tasks will.

    Raises:
        SerdeError: one is missing.
    """
    check_wrapped(topology, config)
    for node in topology.nodes.values():
        if not isinstance(node, ProcessorNode):
            node_serdes(node, config)
    for name in used_stores(topology.nodes.values()):
        if name in topology.stores:
            store_with_serdes(topology.stores[name], config, store_topic(topology, name, config.application_id))
    for store in topology.global_stores.values():
        store_with_serdes(store.builder, config, store.topic)
