"""The configuration of an application."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, get_args

from millstream.dsl_stores import DslStoreSuppliers
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
from millstream.registry.settings import is_registry_setting
from millstream.serdes import Serde
from millstream.wrappers import ProcessorWrapper

Optimization = Literal["reuse_ktable_source_topics", "merge_repartition_topics", "single_store_self_join"]
ProcessingMode = Literal["micro_batch", "continuous"]
DslStore = Literal["rocksdb", "in_memory"]
DslStoreFormat = Literal["default", "headers"]

ProcessingGuarantee = Literal["at_least_once", "exactly_once_v2"]
Setting = str | int | float | bool

ALL_OPTIMIZATIONS: frozenset[Optimization] = frozenset(get_args(Optimization))
EMBEDDED = "embedded"
"""The `bootstrap_servers` of an application that brings its own broker."""

CLIENT_PREFIXES = ("main.consumer.", "global.consumer.", "consumer.", "producer.", "admin.", "topic.")
"""The prefixes of client properties for one kind of client, or for internal topics. The first that fits counts."""

_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")
_SECRET = re.compile(
    r"password|passphrase|secret|credential|jaas|private|key\.pem|access\.key|oauthbearer\.config|token(?!\.endpoint)|user\.info",
    re.IGNORECASE,
)

_OWN_CLIENT_PROPERTIES = {  # what the application decides itself
    "bootstrap.servers": "set bootstrap_servers",
    "metadata.broker.list": "set bootstrap_servers",
    "group.id": "the group is called like the application: set application_id",
    "enable.auto.commit": "positions are committed with the results: set commit_interval",
    "enable.auto.offset.store": "positions are committed with the results",
    "transactional.id": "set processing_guarantee to 'exactly_once_v2'",
    "partitioner": "records go where Kafka's default partitioner sends them; give one in Produced for a topic",
}
_OWN_SPARK_PROPERTIES = {
    "spark.master": "set master",
    "spark.sql.streaming.checkpointLocation": "set checkpoint_location",
}
_EXACTLY_ONCE_PRODUCER = {  # properties and the values that exactly-once can do with
    "enable.idempotence": ("true",),
    "acks": ("all", "-1"),
    "request.required.acks": ("all", "-1"),
    "max.in.flight.requests.per.connection": ("1", "2", "3", "4", "5"),
    "max.in.flight": ("1", "2", "3", "4", "5"),
}


def is_secret(name: str) -> bool:
    """Whether the value of a property of this name must not be shown.

    >>> is_secret("sasl.password"), is_secret("sasl.username")
    (True, False)
    """
    return _SECRET.search(name) is not None


class Properties(dict[str, str]):
    """Properties of clients or of Spark: names and values as text. Its repr hides what looks like a secret.

    >>> Properties({"sasl.username": "ann", "sasl.password": "xyz"})
    {'sasl.username': 'ann', 'sasl.password': '[hidden]'}
    """

    def __repr__(self) -> str:
        return repr({name: "[hidden]" if is_secret(name) else value for name, value in self.items()})

    __str__ = __repr__


@dataclass(frozen=True, kw_only=True)
class StreamsConfig:
    """The options of an application, checked when they are set. Names and defaults are Kafka Streams'.

    >>> StreamsConfig(application_id="orders", topology_optimization="all").max_task_idle_ms
    0

    Args:
        application_id: names the application: its consumer group, its internal topics and its state. Letters, digits,
            `.`, `_` and `-`.
        bootstrap_servers: addresses of brokers, `host:port,host:port`. "embedded" starts a broker of its own that ends
            with the application. Only the test driver does without.
        processing_guarantee: "at_least_once", or "exactly_once_v2": every result is seen once by consumers that read
            committed records only, whatever fails.
        processing_mode: "continuous": tasks stay where they are, results are out in milliseconds, and all that an
            application knows is in Kafka. Or "micro_batch": batches of Structured Streaming, with a checkpoint.
        default_key_serde: for keys that no `Consumed`, `Grouped`, `Produced` ... says anything about.
        default_value_serde: the same for values.
        default_timestamp_extractor: for sources without their own. See `millstream.extractors`.
        statestore_cache_max_bytes: the memory of all stores' caches together; 0 turns caching off, so that every single
            update is passed on.
        statestore_memory_max_bytes: the memory that rows of persistent stores may take, all those of a process (a lane)
            together. What does not fit is in RocksDB. 0 has every row there.
        state_dir: the directory under which persistent stores keep their files. None leaves it to where the application
            runs; the test driver then keeps them in memory. With `processing_mode="continuous"`, a restart on the same
            machine goes on with files in it.
        rocksdb_config_setter: called with the name of a store and the options (`rocksdict.Options`) of its database,
            to change them.
        dsl_store: the stores of operators that are given none: "rocksdb", "in_memory", or your `DslStoreSuppliers`.
        dsl_store_format: "headers" has tables and windowed aggregations keep the headers of the record that wrote a
            row, beside its value and its timestamp.
        max_task_idle: how long a task waits for data of an empty input partition before it goes on with the others, out
            of order. 0 waits only for data known to be there already, None not even for that.
        commit_interval: the least time from one batch to the next, unless so much waits that a batch would be full.
            The results of a batch are made final together; the longer it collects, the more updates of a key caches
            turn into one. None takes a batch as soon as there is something.
        num_stream_threads: how many tasks run at the same time where Spark runs in this process, that is without
            `master`; elsewhere Spark's executors decide.
        num_standby_replicas: how many further copies of state are to be kept warm: of a queryable store on other
            instances, and with `processing_mode="continuous"` of each task's stores in other lanes, so that one of them
            goes on at once if a lane is lost. Results never depend on it.
        acceptable_recovery_lag: how many records of their changelogs tasks may lack that a lane has in reserve when it
            joins the others, and may get them.
        max_warmup_replicas: how many tasks at most a lane that comes to others reads into reserve at the same time,
            before it joins them; in batches on a cluster, how many lanes at most move from one batch to the next to
            executors that came.
        client: properties of the Kafka clients, security settings included, named as in librdkafka. They are for all
            clients, or with the prefix `consumer.`, `main.consumer.`, `global.consumer.`, `producer.` or `admin.` for
            some; with `topic.` for the internal topics. An unknown one is an error when the first client is made.
        replication_factor: copies of internal topics; -1 leaves it to the broker.
        windowstore_changelog_additional_retention: how much longer than the store a windowed changelog keeps records.
        master: the address of Spark's master; None runs Spark in this process.
        checkpoint_location: a directory, or a URL that Spark can write to, for what a restart needs. None is a
            directory below `state_dir`, or below the user's state directory if that is not set either.
        spark: more properties of Spark, `spark.*`.
        max_batch_records: the most records that are taken into one batch.
        max_batch_bytes: the most bytes that are taken into one batch.
        target_batch_time: batches are made smaller or greater, within these bounds, so as to take about this long.
        max_poll_interval: how long a function may be at one record. A process that does not get on for so long, or does
            not answer, is ended and started anew, and the batch is tried again; what it was at is logged long before.
            Waiting for a broker that is away does not count.
        metrics_port: the port on which metrics are served for Prometheus; 0 takes a free one, None serves none.
        metrics_host: the address of this machine on which they are served; "0.0.0.0" is all of them, for a scraper on
            another machine.
        topology_optimization: "none", "all", or some of "reuse_ktable_source_topics", "merge_repartition_topics" and
            "single_store_self_join".
        ensure_explicit_internal_resource_naming: refuse topologies with stores or internal topics of generated names,
            which change when the topology does.
        deserialization_exception_handler: decides about input that cannot be read. See `millstream.handlers`.
        processing_exception_handler: decides when a node raises.
        processing_exception_handler_global_enabled: it decides about global stores and tables too (there its dead
            letters are not written). Else an error there ends the application.
        production_exception_handler: decides about output that cannot be written.
        dead_letter_queue_topic: where the built-in handlers send the input records of errors; None sends none.
        processor_wrapper: is asked to wrap every processor of a topology that is built with this configuration.
        app_configs: your own settings; processors read them from their context.
    """

    application_id: str = "app"
    bootstrap_servers: str | None = None
    processing_guarantee: ProcessingGuarantee = "at_least_once"
    processing_mode: ProcessingMode = "continuous"
    default_key_serde: Serde[Any] | None = None
    default_value_serde: Serde[Any] | None = None
    default_timestamp_extractor: TimestampExtractor = field(default_factory=FailOnInvalidTimestamp)
    statestore_cache_max_bytes: int = 10 * 1024 * 1024
    statestore_memory_max_bytes: int = 256 * 1024 * 1024
    state_dir: str | Path | None = None
    rocksdb_config_setter: Callable[[str, Any], None] | None = None
    dsl_store: DslStore | DslStoreSuppliers = "rocksdb"
    dsl_store_format: DslStoreFormat = "default"
    max_task_idle: timedelta | None = timedelta(0)
    commit_interval: timedelta | None = None
    num_stream_threads: int = 1
    num_standby_replicas: int = 0
    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    client: Mapping[str, Setting] = field(default_factory=Properties, hash=False)
    replication_factor: int = -1
    windowstore_changelog_additional_retention: timedelta = timedelta(days=1)
    master: str | None = None
    checkpoint_location: str | Path | None = None
    spark: Mapping[str, Setting] = field(default_factory=Properties, hash=False)
    max_batch_records: int = 1_000_000
    max_batch_bytes: int = 256 * 1024 * 1024
    target_batch_time: timedelta = timedelta(seconds=2)
    max_poll_interval: timedelta = timedelta(minutes=5)
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    topology_optimization: Literal["none", "all"] | Optimization | Collection[Optimization] = "none"
    ensure_explicit_internal_resource_naming: bool = False
    deserialization_exception_handler: DeserializationExceptionHandler = field(
        default_factory=LogAndFailExceptionHandler
    )
    processing_exception_handler: ProcessingExceptionHandler = field(
        default_factory=LogAndFailProcessingExceptionHandler
    )
    processing_exception_handler_global_enabled: bool = False
    production_exception_handler: ProductionExceptionHandler = field(default_factory=DefaultProductionExceptionHandler)
    dead_letter_queue_topic: str | None = None
    processor_wrapper: ProcessorWrapper | None = None
    app_configs: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        _check_topic_name("application_id", self.application_id)
        if self.dead_letter_queue_topic is not None:
            _check_topic_name("dead_letter_queue_topic", self.dead_letter_queue_topic)
        for name in ("default_key_serde", "default_value_serde"):
            _check_serde(name, getattr(self, name))
        if not callable(self.default_timestamp_extractor) or isinstance(self.default_timestamp_extractor, type):
            raise _refuse("default_timestamp_extractor", self.default_timestamp_extractor, "give a callable instance")
        self._check_number("statestore_cache_max_bytes", 0, "give a number of bytes, 0 for no caching")
        self._check_number("statestore_memory_max_bytes", 0, "give a number of bytes, 0 for RocksDB alone")
        for name in ("state_dir", "checkpoint_location"):
            if getattr(self, name) is not None and not isinstance(getattr(self, name), str | Path):
                raise _refuse(name, getattr(self, name), "give the path of a directory")
        if self.rocksdb_config_setter is not None and not callable(self.rocksdb_config_setter):
            raise _refuse("rocksdb_config_setter", self.rocksdb_config_setter, "give a function (store, options)")
        if not isinstance(self.dsl_store, DslStoreSuppliers) and self.dsl_store not in get_args(DslStore):
            hint = f"give one of {', '.join(get_args(DslStore))}, or an instance of DslStoreSuppliers"
            raise _refuse("dsl_store", self.dsl_store, hint)
        if self.dsl_store_format not in get_args(DslStoreFormat):
            choices = ", ".join(get_args(DslStoreFormat))
            raise _refuse("dsl_store_format", self.dsl_store_format, f"give one of {choices}")
        if self.max_task_idle is not None:
            milliseconds(self.max_task_idle, "max_task_idle")
        if self.commit_interval is not None:
            milliseconds(self.commit_interval, "commit_interval", minimum=1)
        milliseconds(self.target_batch_time, "target_batch_time", minimum=1)
        milliseconds(self.max_poll_interval, "max_poll_interval", minimum=1)
        milliseconds(self.windowstore_changelog_additional_retention, "windowstore_changelog_additional_retention")
        _optimizations(self.topology_optimization)
        for name in ("deserialization", "processing", "production"):
            _check_handler(f"{name}_exception_handler", getattr(self, f"{name}_exception_handler"))
        if self.processor_wrapper is not None and not isinstance(self.processor_wrapper, ProcessorWrapper):
            raise _refuse("processor_wrapper", self.processor_wrapper, "give an instance of a ProcessorWrapper")
        if not isinstance(self.app_configs, Mapping):
            raise _refuse("app_configs", self.app_configs, "give a dict")
        object.__setattr__(self, "app_configs", dict(self.app_configs))  # later changes of the caller's have no effect
        for name in ("client", "spark"):
            object.__setattr__(self, name, _properties(name, getattr(self, name)))
        self._check_runtime()
        _check_client(self)
        _check_spark(self)

    def _check_runtime(self) -> None:
        servers = self.bootstrap_servers
        if servers is not None and (not isinstance(servers, str) or not servers.strip()):
            raise _refuse("bootstrap_servers", servers, "give 'host:port', several separated by commas, or 'embedded'")
        if self.processing_guarantee not in get_args(ProcessingGuarantee):
            choices = ", ".join(get_args(ProcessingGuarantee))
            raise _refuse("processing_guarantee", self.processing_guarantee, f"give one of {choices}")
        if self.processing_mode not in get_args(ProcessingMode):
            choices = ", ".join(get_args(ProcessingMode))
            raise _refuse("processing_mode", self.processing_mode, f"give one of {choices}")
        self._check_number("num_stream_threads", 1, "give a number of threads, at least 1")
        self._check_number("num_standby_replicas", 0, "give a number of copies, 0 for none")
        self._check_number("acceptable_recovery_lag", 0, "give a number of records, 0 for none")
        self._check_number("max_warmup_replicas", 1, "give a number of tasks, at least 1")
        self._check_number("max_batch_records", 1, "give a number of records, at least 1")
        self._check_number("max_batch_bytes", 1, "give a number of bytes, at least 1")
        if self.metrics_port is not None:
            self._check_number("metrics_port", 0, "give a port, 0 for a free one or None for no metrics", most=65535)
        if not isinstance(self.metrics_host, str) or not self.metrics_host.strip():
            raise _refuse("metrics_host", self.metrics_host, "give a host name or an address, such as '0.0.0.0'")
        self._check_number("replication_factor", -1, "give a number of copies, or -1 for the broker's default")
        if self.replication_factor == 0:
            raise _refuse("replication_factor", 0, "give a number of copies, or -1 for the broker's default")

    def _check_number(self, option: str, least: int, hint: str, *, most: int | None = None) -> None:
        value = getattr(self, option)
        number = isinstance(value, int) and not isinstance(value, bool)
        if not number or value < least or (most is not None and value > most):
            raise _refuse(option, value, hint)

    @property
    def optimizations(self) -> frozenset[Optimization]:
        """The optimisations that are on."""
        return _optimizations(self.topology_optimization)

    @property
    def exactly_once(self) -> bool:
        """Whether every result is to be seen once."""
        return self.processing_guarantee == "exactly_once_v2"

    @property
    def offset_reset(self) -> str:
        """Where a source without its own policy starts when nothing is committed: "earliest", "latest" or "none".

        It is the consumers' `auto.offset.reset`, "earliest" unless set.
        """
        given = client_properties(self, "consumer").get("auto.offset.reset", "earliest")
        return next(policy for policy, names in _RESETS.items() if given in names)

    @property
    def spark_master(self) -> str:
        """The address of Spark's master: `master`, or this process with `num_stream_threads` cores."""
        return self.master or f"local[{self.num_stream_threads}]"

    @property
    def max_task_idle_ms(self) -> int:
        """`max_task_idle` in milliseconds; -1 never waits."""
        return -1 if self.max_task_idle is None else milliseconds(self.max_task_idle, "max_task_idle")


def client_properties(config: StreamsConfig, kind: str) -> Properties:
    """The properties that a user set for one kind of client, without prefix.

    Args:
        config: the configuration.
        kind: "consumer", "main.consumer", "global.consumer", "producer", "admin" or "topic". What is set for
            "consumer" is for the main and the global one too. Topics get only what has their prefix.

    >>> client = {"security.protocol": "ssl", "producer.linger.ms": 5, "consumer.fetch.min.bytes": 9}
    >>> client_properties(StreamsConfig(client=client), "producer")
    {'security.protocol': 'ssl', 'linger.ms': '5'}
    """
    general = Properties()
    special: dict[str, Properties] = {prefix: Properties() for prefix in CLIENT_PREFIXES}
    for name, value in config.client.items():
        if is_registry_setting(name):
            continue  # for serdes
        prefix = next((prefix for prefix in CLIENT_PREFIXES if name.startswith(prefix)), None)
        if prefix is None:
            general[name] = str(value)
        else:
            special[prefix][name.removeprefix(prefix)] = str(value)
    if kind == "topic":
        return special["topic."]
    found = general | special["consumer."] if kind.endswith("consumer") else general
    return Properties(found | special[f"{kind}."])


_RESETS = {
    "earliest": ("earliest", "smallest", "beginning"),
    "latest": ("latest", "largest", "end"),
    "none": ("none", "error"),
}


def _properties(option: str, given: Any) -> Properties:
    hint = "give a dict of names and values"
    if not isinstance(given, Mapping):
        raise _refuse(option, given, hint)
    found = Properties()
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            raise ArgumentError(f"{option} cannot have {name!r} of type {type(value).__name__}", hint=hint)
        found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def _check_client(config: StreamsConfig) -> None:
    for given in config.client:
        name = given
        for prefix in CLIENT_PREFIXES[:-1]:
            name = name.removeprefix(prefix)
        if name in _OWN_CLIENT_PROPERTIES:
            raise ArgumentError(f"client property {given} cannot be set", hint=_OWN_CLIENT_PROPERTIES[name])
    reset = client_properties(config, "consumer").get("auto.offset.reset", "earliest")
    if not any(reset in names for names in _RESETS.values()):
        raise _refuse("client property auto.offset.reset", reset, f"give one of {', '.join(_RESETS)}")
    for kind in ("consumer", "producer", "admin"):
        _check_credentials(client_properties(config, kind))
    if config.exactly_once:
        _check_exactly_once(config)


def _check_credentials(properties: Properties) -> None:
    """Refuse credentials that would silently never be used."""
    sasl = next((name for name in properties if name.startswith("sasl.")), None)
    protocol = properties.get("security.protocol", "plaintext")
    if sasl is not None and not protocol.lower().startswith("sasl_"):
        raise ArgumentError(
            f"client property {sasl} has no effect with security.protocol {protocol}",
            hint="set security.protocol to 'sasl_ssl' (or 'sasl_plaintext')",
        )


def _check_exactly_once(config: StreamsConfig) -> None:
    producer = client_properties(config, "producer")
    for name, allowed in _EXACTLY_ONCE_PRODUCER.items():
        if producer.get(name, allowed[0]) not in allowed:
            raise ArgumentError(
                f"client property {name} cannot be {producer[name]} under exactly_once_v2",
                hint=f"leave it out, or set it to {' or '.join(allowed)}",
            )
    isolation = client_properties(config, "consumer").get("isolation.level", "read_committed")
    if isolation != "read_committed":
        raise ArgumentError(
            f"client property isolation.level cannot be {isolation} under exactly_once_v2",
            detail="records of transactions that may still be aborted would be processed",
            hint="leave it out",
        )


def _check_spark(config: StreamsConfig) -> None:
    for name in config.spark:
        if not name.startswith("spark."):
            raise ArgumentError(f"spark property {name} is unknown", hint="Spark's properties start with 'spark.'")
        if name in _OWN_SPARK_PROPERTIES:
            raise ArgumentError(f"spark property {name} cannot be set", hint=_OWN_SPARK_PROPERTIES[name])
    if config.master is None:
        return
    if not isinstance(config.master, str) or not config.master:
        raise _refuse("master", config.master, "give an address such as 'spark://host:7077' or 'local[4]'")
    local = _LOCAL_MASTER.fullmatch(config.master)
    if config.num_stream_threads != 1 and not (local and local[1] == str(config.num_stream_threads)):
        raise ArgumentError(
            f"num_stream_threads {config.num_stream_threads} contradicts master {config.master!r}",
            detail="with a master, Spark's cores decide how many tasks run at the same time",
            hint="leave out one of the two, or set spark.executor.cores",
        )


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
