"""The configuration of an application."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.extractors import FailOnInvalidTimestamp, TimestampExtractor
from millstream.handlers import (
    DefaultProductionExceptionHandler,
    DeserializationExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
    ProcessingExceptionHandler,
    ProductionExceptionHandler,
)
from millstream.serdes import Serde

Optimization = Literal["reuse_ktable_source_topics", "merge_repartition_topics", "single_store_self_join"]
DslStore = Literal["rocksdb", "in_memory"]

ALL_OPTIMIZATIONS: frozenset[Optimization] = frozenset(get_args(Optimization))

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


@dataclass(frozen=True, kw_only=True)
class StreamsConfig:
    """The options of an application, checked when they are set. Names and defaults are Kafka Streams'.

    >>> StreamsConfig(application_id="orders", topology_optimization="all").max_task_idle_ms
    0

    Args:
        application_id: names the application: its consumer group, its internal topics and its state. Letters, digits,
            `.`, `_` and `-`.
        default_key_serde: for keys that no `Consumed`, `Grouped`, `Produced` ... says anything about.
        default_value_serde: the same for values.
        default_timestamp_extractor: for sources without their own. See `millstream.extractors`.
        statestore_cache_max_bytes: the memory of all stores' caches together; 0 turns caching off, so that every single
            update is passed on.
        state_dir: the directory under which persistent stores keep their files. None leaves it to where the application
            runs; the test driver then keeps them in memory.
        dsl_store: the stores of operators that are given none: "rocksdb" or "in_memory".
        max_task_idle: how long a task waits for data of an empty input partition before it goes on with the others, out
            of order. 0 waits only for data known to be there already, None not even for that.
        commit_interval: how often results and positions are made final.
        topology_optimization: "none", "all", or some of "reuse_ktable_source_topics", "merge_repartition_topics" and
            "single_store_self_join".
        ensure_explicit_internal_resource_naming: refuse topologies with stores or internal topics of generated names,
            which change when the topology does.
        deserialization_exception_handler: decides about input that cannot be read. See `millstream.handlers`.
        processing_exception_handler: decides when a node raises.
        production_exception_handler: decides about output that cannot be written.
        dead_letter_queue_topic: where the built-in handlers send the input records of errors; None sends none.
        app_configs: your own settings; processors read them from their context.
    """

    application_id: str = "app"
    default_key_serde: Serde[Any] | None = None
    default_value_serde: Serde[Any] | None = None
    default_timestamp_extractor: TimestampExtractor = field(default_factory=FailOnInvalidTimestamp)
    statestore_cache_max_bytes: int = 10 * 1024 * 1024
    state_dir: str | Path | None = None
    dsl_store: DslStore = "rocksdb"
    max_task_idle: timedelta | None = timedelta(0)
    commit_interval: timedelta = timedelta(seconds=30)
    topology_optimization: Literal["none", "all"] | Optimization | Collection[Optimization] = "none"
    ensure_explicit_internal_resource_naming: bool = False
    deserialization_exception_handler: DeserializationExceptionHandler = field(
        default_factory=LogAndFailExceptionHandler
    )
    processing_exception_handler: ProcessingExceptionHandler = field(
        default_factory=LogAndFailProcessingExceptionHandler
    )
    production_exception_handler: ProductionExceptionHandler = field(default_factory=DefaultProductionExceptionHandler)
    dead_letter_queue_topic: str | None = None
    app_configs: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_topic_name("application_id", self.application_id)
        if self.dead_letter_queue_topic is not None:
            _check_topic_name("dead_letter_queue_topic", self.dead_letter_queue_topic)
        for name in ("default_key_serde", "default_value_serde"):
            _check_serde(name, getattr(self, name))
        if not callable(self.default_timestamp_extractor) or isinstance(self.default_timestamp_extractor, type):
            raise _refuse("default_timestamp_extractor", self.default_timestamp_extractor, "give a callable instance")
        size = self.statestore_cache_max_bytes
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise _refuse("statestore_cache_max_bytes", size, "give a number of bytes, 0 for no caching")
        if self.state_dir is not None and not isinstance(self.state_dir, str | Path):
            raise _refuse("state_dir", self.state_dir, "give the path of a directory")
        if self.dsl_store not in get_args(DslStore):
            raise _refuse("dsl_store", self.dsl_store, f"give one of {', '.join(get_args(DslStore))}")
        if self.max_task_idle is not None:
            milliseconds(self.max_task_idle, "max_task_idle")
        milliseconds(self.commit_interval, "commit_interval")
        _optimizations(self.topology_optimization)
        for name in ("deserialization", "processing", "production"):
            _check_handler(f"{name}_exception_handler", getattr(self, f"{name}_exception_handler"))
        if not isinstance(self.app_configs, Mapping):
            raise _refuse("app_configs", self.app_configs, "give a dict")
        object.__setattr__(self, "app_configs", dict(self.app_configs))  # what the caller changes later stays his

    @property
    def optimizations(self) -> frozenset[Optimization]:
        """The optimisations that are on."""
        return _optimizations(self.topology_optimization)

    @property
    def max_task_idle_ms(self) -> int:
        """`max_task_idle` in milliseconds; -1 never waits."""
        return -1 if self.max_task_idle is None else milliseconds(self.max_task_idle, "max_task_idle")


def _optimizations(given: Any) -> frozenset[Optimization]:
    if given == "none":
        return frozenset()
    if given == "all":
        return ALL_OPTIMIZATIONS
    hint = f"give 'none', 'all' or some of {', '.join(sorted(ALL_OPTIMIZATIONS))}"
    if not isinstance(given, Collection) or isinstance(given, bytes):
        raise _refuse("topology_optimization", given, hint)
    names: set[Any] = {given} if isinstance(given, str) else set(given)
    if not names <= ALL_OPTIMIZATIONS:
        raise _refuse("topology_optimization", given, hint)
    return frozenset(names)


def _check_topic_name(option: str, name: object) -> None:
    if not isinstance(name, str) or not _TOPIC_NAME.fullmatch(name) or name in (".", ".."):
        raise _refuse(option, name, "use letters, digits, '.', '_' and '-', 249 at most, as in topic names")


def _check_serde(option: str, serde: object) -> None:
    if serde is not None and not isinstance(serde, Serde):
        raise _refuse(option, serde, "give a serde, such as Serdes.string")


def _check_handler(option: str, handler: object) -> None:
    if isinstance(handler, type) or not callable(getattr(handler, "handle", None)):
        raise _refuse(
            option, handler, "give an object with handle(context, record, exception), not a class or a function"
        )


def _refuse(option: str, value: object, hint: str) -> ArgumentError:
    return ArgumentError(f"{option} cannot be {value!r}", hint=hint)
