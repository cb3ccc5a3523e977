"""Options are checked when they are set."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.config import ALL_OPTIMIZATIONS, StreamsConfig
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.extractors import FailOnInvalidTimestamp, WallclockTimestampExtractor
from millstream.handlers import LogAndContinueExceptionHandler, LogAndContinueProcessingExceptionHandler
from millstream.serdes import Serdes


def test_defaults_are_those_of_kafka_streams() -> None:
    config = StreamsConfig()
    assert config.statestore_cache_max_bytes == 10485760
    assert config.max_task_idle_ms == 0
    assert config.commit_interval == timedelta(seconds=30)
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
    )
    settings["limit"] = 4
    assert config.app_configs == {"limit": 3}
    assert config.max_task_idle_ms == -1
    assert config.optimizations == {"merge_repartition_topics"}


def test_frozen_and_copied_to_other_processes() -> None:
    config = StreamsConfig(application_id="orders")
    with pytest.raises(FrozenInstanceError):
        config.application_id = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 - our own bytes
    assert hash(copy.deepcopy(config)) == hash(config)


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
    ],
)
def test_refused(options: dict[str, Any], hint: str) -> None:
    (option,) = options
    with pytest.raises(ArgumentError) as caught:
        StreamsConfig(**options)
    assert caught.value.primary.startswith(f"{option} cannot be ")
    assert hint in str(caught.value.hint)


@pytest.mark.parametrize("options", [{"max_task_idle": timedelta(-1)}, {"max_task_idle": 5}, {"commit_interval": -1}])
def test_refused_durations(options: dict[str, Any]) -> None:
    (option,) = options
    with pytest.raises(ArgumentError, match=f"^{option} must"):
        StreamsConfig(**options)


def test_an_unknown_option() -> None:
    unknown: dict[str, Any] = {"cache_size": 1}
    with pytest.raises(TypeError, match="cache_size"):
        StreamsConfig(**unknown)


def test_fractions_of_a_millisecond_are_cut_off() -> None:
    assert milliseconds(timedelta(microseconds=1999), "size") == 1
