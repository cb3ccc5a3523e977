"""Options are checked when they are set."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.config import ALL_OPTIMIZATIONS, StreamsConfig, client_properties
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.extractors import FailOnInvalidTimestamp, WallclockTimestampExtractor
from millstream.handlers import LogAndContinueExceptionHandler, LogAndContinueProcessingExceptionHandler
from millstream.serdes import Serdes


def test_defaults_are_those_of_kafka_streams() -> None:
    config = StreamsConfig()
    assert config.statestore_cache_max_bytes == 10485760
    assert config.max_task_idle_ms == 0
    assert not config.exactly_once
    assert config.num_stream_threads == 1
    assert config.num_standby_replicas == 0
    assert config.acceptable_recovery_lag == 10_000
    assert config.max_warmup_replicas == 2
    assert config.offset_reset == "earliest"
    assert config.optimizations == frozenset()
    assert config.dsl_store == "rocksdb"
    assert config.default_timestamp_extractor == FailOnInvalidTimestamp()
    assert config.dead_letter_queue_topic is None


def test_all_options() -> None:
    settings = {"limit": 3}
    config = StreamsConfig(
        application_id="orders-1",
        default_key_serde=Serdes.string,
        default_value_serde=Serdes.json,
        default_timestamp_extractor=WallclockTimestampExtractor(),
        statestore_cache_max_bytes=0,
        state_dir=Path("state"),
        dsl_store="in_memory",
        max_task_idle=None,
        commit_interval=timedelta(milliseconds=100),
        topology_optimization=["merge_repartition_topics"],
        ensure_explicit_internal_resource_naming=True,
        deserialization_exception_handler=LogAndContinueExceptionHandler(),
        processing_exception_handler=LogAndContinueProcessingExceptionHandler(),
        dead_letter_queue_topic="orders.dlq",
        app_configs=settings,
        bootstrap_servers="a:9092,b:9092",
        processing_guarantee="exactly_once_v2",
        num_stream_threads=4,
        num_standby_replicas=1,
        client={"producer.acks": -1, "enable.ssl.certificate.verification": False, "topic.segment.ms": 5},
        replication_factor=3,
        windowstore_changelog_additional_retention=timedelta(hours=1),
        checkpoint_location="s3://bucket/orders",
        spark={"spark.executor.cores": 2, "spark.ui.enabled": True},
        max_batch_records=5,
        max_batch_bytes=6,
        target_batch_time=timedelta(seconds=1),
        metrics_port=0,
    )
    settings["limit"] = 4
    assert config.app_configs == {"limit": 3}
    assert config.max_task_idle_ms == -1
    assert config.optimizations == {"merge_repartition_topics"}
    assert config.commit_interval == timedelta(milliseconds=100)
    assert config.exactly_once
    assert config.spark_master == "local[4]"
    assert config.spark == {"spark.executor.cores": "2", "spark.ui.enabled": "true"}
    assert client_properties(config, "producer") == {"acks": "-1", "enable.ssl.certificate.verification": "false"}
    assert client_properties(config, "topic") == {"segment.ms": "5"}


def test_frozen_and_copied_to_other_processes() -> None:
    config = StreamsConfig(application_id="orders", client={"sasl.password": "x", "security.protocol": "sasl_ssl"})
    with pytest.raises(FrozenInstanceError):
        config.application_id = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
    assert hash(copy.deepcopy(config)) == hash(config)
    assert replace(config, processing_guarantee="exactly_once_v2").exactly_once
    assert "'x'" not in repr(pickle.loads(pickle.dumps(config)))  # noqa: S301


@pytest.mark.parametrize(
    ("given", "on"),
    [
        ("none", set()),
        ("all", ALL_OPTIMIZATIONS),
        ("single_store_self_join", {"single_store_self_join"}),
        (
            ("single_store_self_join", "merge_repartition_topics"),
            {"single_store_self_join", "merge_repartition_topics"},
        ),
        ((), set()),
    ],
)
def test_optimizations(given: Any, on: set[str]) -> None:
    assert StreamsConfig(topology_optimization=given).optimizations == on


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"application_id": ""}, "as in topic names"),
        ({"application_id": "my app"}, "as in topic names"),
        ({"application_id": None}, "as in topic names"),
        ({"application_id": ".."}, "as in topic names"),
        ({"dead_letter_queue_topic": "a/b"}, "as in topic names"),
        ({"default_key_serde": str}, "Serdes.string"),
        ({"default_timestamp_extractor": WallclockTimestampExtractor}, "instance"),
        ({"statestore_cache_max_bytes": -1}, "0 for no caching"),
        ({"statestore_cache_max_bytes": True}, "0 for no caching"),
        ({"state_dir": 5}, "path"),
        ({"dsl_store": "disk"}, "rocksdb, in_memory"),
        ({"topology_optimization": "some"}, "merge_repartition_topics"),
        ({"topology_optimization": ["all"]}, "merge_repartition_topics"),
        ({"topology_optimization": None}, "merge_repartition_topics"),
        ({"processing_exception_handler": LogAndContinueProcessingExceptionHandler}, "not a class"),
        ({"production_exception_handler": lambda context, record, error: None}, "an object with handle"),
        ({"app_configs": [1]}, "give a dict"),
        ({"bootstrap_servers": " "}, "host:port"),
        ({"bootstrap_servers": ["a:1"]}, "host:port"),
        ({"processing_guarantee": "exactly_once"}, "exactly_once_v2"),
        ({"num_stream_threads": 0}, "at least 1"),
        ({"num_standby_replicas": -1}, "0 for none"),
        ({"acceptable_recovery_lag": -1}, "0 for none"),
        ({"max_warmup_replicas": 0}, "at least 1"),
        ({"max_batch_records": 0}, "at least 1"),
        ({"max_batch_bytes": 1.5}, "at least 1"),
        ({"metrics_port": 65536}, "0 for a free one"),
        ({"metrics_host": ""}, "give a host name or an address"),
        ({"replication_factor": 0}, "-1 for the broker's default"),
        ({"checkpoint_location": 5}, "path"),
        ({"client": "acks=1"}, "dict"),
        ({"client": {"acks": None}}, "dict"),
        ({"spark": [("a", "b")]}, "dict"),
        ({"master": ""}, "spark://"),
    ],
)
def test_refused(options: dict[str, Any], hint: str) -> None:
    (option,) = options
    with pytest.raises(ArgumentError) as caught:
        StreamsConfig(**options)
    assert caught.value.primary.startswith((f"{option} cannot be ", f"{option} cannot have "))
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "options",
    [
        {"max_task_idle": timedelta(-1)},
        {"max_task_idle": 5},
        {"commit_interval": -1},
        {"commit_interval": timedelta(0)},
        {"target_batch_time": timedelta(0)},
        {"windowstore_changelog_additional_retention": timedelta(-1)},
    ],
)
def test_refused_durations(options: dict[str, Any]) -> None:
    (option,) = options
    with pytest.raises(ArgumentError, match=f"^{option} must"):
        StreamsConfig(**options)


@pytest.mark.parametrize(
    ("client", "hint"),
    [
        ({"group.id": "mine"}, "set application_id"),
        ({"consumer.group.id": "mine"}, "set application_id"),
        ({"main.consumer.enable.auto.commit": True}, "set commit_interval"),
        ({"bootstrap.servers": "a:1"}, "set bootstrap_servers"),
        ({"producer.transactional.id": "mine"}, "processing_guarantee"),
        ({"producer.partitioner": "random"}, "Produced"),
        ({"consumer.auto.offset.reset": "now"}, "earliest, latest, none"),
        ({"sasl.username": "ann"}, "sasl_ssl"),
        ({"producer.sasl.password": "x", "security.protocol": "ssl"}, "sasl_ssl"),
    ],
)
def test_client_properties_that_are_not_the_users(client: dict[str, Any], hint: str) -> None:
    with pytest.raises(ArgumentError, match=r"^client property ") as caught:
        StreamsConfig(client=client)
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize(
    "client",
    [
        {"producer.enable.idempotence": False},
        {"enable.idempotence": "false"},
        {"producer.acks": 1},
        {"producer.max.in.flight.requests.per.connection": 6},
        {"consumer.isolation.level": "read_uncommitted"},
    ],
)
def test_exactly_once_contradicted(client: dict[str, Any]) -> None:
    StreamsConfig(client=client)
    with pytest.raises(ArgumentError, match=r"under exactly_once_v2"):
        StreamsConfig(client=client, processing_guarantee="exactly_once_v2")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"spark": {"executor.memory": "1g"}}, "is unknown"),
        ({"spark": {"spark.master": "local"}}, "cannot be set"),
        ({"spark": {"spark.sql.streaming.checkpointLocation": "x"}}, "cannot be set"),
        ({"master": "local[4]", "num_stream_threads": 2}, "contradicts"),
        ({"master": "spark://host:7077", "num_stream_threads": 2}, "contradicts"),
    ],
)
def test_spark_contradicted(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ArgumentError, match=expected):
        StreamsConfig(**options)


def test_masters() -> None:
    assert StreamsConfig().spark_master == "local[1]"
    assert StreamsConfig(master="local[2]", num_stream_threads=2).spark_master == "local[2]"
    assert StreamsConfig(master="local-cluster[2,1,1024]").spark_master == "local-cluster[2,1,1024]"


@pytest.mark.parametrize(("given", "policy"), [("smallest", "earliest"), ("latest", "latest"), ("error", "none")])
def test_offset_reset(given: str, policy: str) -> None:
    assert StreamsConfig(client={"consumer.auto.offset.reset": given}).offset_reset == policy


def test_an_unknown_option() -> None:
    unknown: dict[str, Any] = {"cache_size": 1}
    with pytest.raises(TypeError, match="cache_size"):
        StreamsConfig(**unknown)


def test_fractions_of_a_millisecond_are_cut_off() -> None:
    assert milliseconds(timedelta(microseconds=1999), "size") == 1
