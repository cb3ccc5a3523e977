"""The options of operators: small values with keywords, given where an operator reads, writes or keeps something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args

from millstream.config import DslStore
from millstream.dsl_stores import DslStoreSuppliers
from millstream.durations import milliseconds
from millstream.errors import ArgumentError
from millstream.extractors import TimestampExtractor
from millstream.serdes import Serde
from millstream.state import StoreSupplier
from millstream.topology.checks import check_offset_reset
from millstream.topology.names import check_name
from millstream.topology.nodes import OffsetReset

#: `partitioner(topic, key, value, partitions)` gives one partition, several (multicast), none of them (an empty
#: collection drops the record) or None for Kafka's default.
StreamPartitioner = Callable[[str, Any, Any, int], Any]

Option = TypeVar("Option")

if TYPE_CHECKING:
    # Only type checkers need a default, so the package that has it for older Pythons need not be there.
    from typing_extensions import TypeVar as TypeVarWithDefault

    K = TypeVarWithDefault("K", default=Any)
    V = TypeVarWithDefault("V", default=Any)
else:
    K = TypeVar("K")
    V = TypeVar("V")


def chosen(option: Option | None, kind: type[Option], operator: str) -> Option:
    """The option that an operator was given, or its default; one of another kind is refused."""
    if option is None:
        return kind()
    if not isinstance(option, kind):
        wanted = f"{kind.__name__}(...)"
        raise ArgumentError(
            f"{operator} takes {wanted}, not a {type(option).__name__}",
            detail=f"it was given {option!r}",
            hint=f"give {wanted}, or name={option!r} if that is its name" if isinstance(option, str) else None,
        )
    return option


def _check_serde(serde: object, what: str) -> None:
    if serde is not None and not isinstance(serde, Serde):
        raise ArgumentError(
            f"{what} must be a serde", detail=f"got {serde!r}", hint="for instance Serdes.string or Serdes.json"
        )


def _check_callable(function: object, what: str, hint: str) -> None:
    if function is not None and (not callable(function) or isinstance(function, type)):
        raise ArgumentError(f"{what} must be a function", detail=f"got {function!r}", hint=hint)


def _check_supplier(supplier: object, what: str) -> None:
    if supplier is not None and not isinstance(supplier, StoreSupplier):
        raise ArgumentError(
            f"{what} must be a store supplier",
            detail=f"got {supplier!r}",
            hint="for instance Stores.in_memory_key_value(name)",
        )


def _check_dsl_store(dsl_store: object, given: StoreSupplier | None) -> None:
    if not isinstance(dsl_store, DslStoreSuppliers) and dsl_store not in (None, *get_args(DslStore)):
        hint = f"give one of {', '.join(get_args(DslStore))}, or an instance of DslStoreSuppliers"
        raise ArgumentError(f"dsl_store cannot be {dsl_store!r}", hint=hint)
    if dsl_store is not None and given is not None:
        raise ArgumentError(
            "dsl_store cannot be chosen for a given store",
            detail=f"store '{given.name}' says itself where it is kept",
            hint="leave one of the two out",
        )


class _Option:
    """Checks what options have in common: a legal name, and serdes, partitioners and stores that are such."""

    def __post_init__(self) -> None:
        name = getattr(self, "name", None)
        if name is not None:
            check_name(name)
        for part in ("key", "value", "other_value"):
            _check_serde(getattr(self, part, None), f"{type(self).__name__}({part}=...)")
        for part in ("partitioner", "other_partitioner"):
            what = f"{type(self).__name__}({part}=...)"
            _check_callable(getattr(self, part, None), what, "write it as (topic, key, value, partitions)")
        for part in ("store", "this_store", "other_store"):
            _check_supplier(getattr(self, part, None), f"{type(self).__name__}({part}=...)")


@dataclass(frozen=True)
class Consumed(_Option, Generic[K, V]):
    """How a topic is read.

    Use it with `stream`, `table` and `global_table`. What is not given comes from the configuration.

    Args:
        key: serde of the keys.
        value: serde of the values.
        timestamp_extractor: where event time comes from; by default the record's own timestamp.
        offset_reset: where to start without a committed offset: "earliest", "latest", "none" or a timedelta before now.
        name: of the source node.

    >>> from millstream import Consumed, Serdes, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder = StreamsBuilder()
    >>> in_value = Consumed(Serdes.string, Serdes.json, timestamp_extractor=lambda record, time: record.value["at"])
    >>> builder.stream("orders", in_value).to("out")
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("orders", Serdes.string, Serdes.json).pipe("o1", {"at": 123})
    ...     driver.output_topic("out", Serdes.string, Serdes.json).read_record().timestamp
    123
    """

    key: Serde[K] | None = None
    value: Serde[V] | None = None
    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: OffsetReset | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        what = "Consumed(timestamp_extractor=...)"
        _check_callable(self.timestamp_extractor, what, "write it as (record, partition_time), or give an instance")
        check_offset_reset(self.offset_reset)


@dataclass(frozen=True)
class Produced(_Option):
    """How a topic is written.

    Use it with `to`, above all for serdes of keys and values that an operator has made anew.

    Args:
        key: serde of the keys; that of the stream if missing.
        value: serde of the values; that of the stream if missing.
        partitioner: `(topic, key, value, partitions)` to a partition; Kafka's way if missing.
        name: of the sink node.

    >>> from millstream import Consumed, Produced, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> words.map_values(len).to("lengths", Produced(value=Serdes.long, name="lengths-out"))
    >>> builder.build().nodes["lengths-out"].topic
    'lengths'
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    partitioner: StreamPartitioner | None = None
    name: str | None = None


@dataclass(frozen=True)
class Grouped(_Option):
    """How a grouped stream or table is repartitioned. The name is that of the topic and of the key-selecting node.

    Use it with `group_by` and `group_by_key`. Give a name: it keeps the repartition topic the same when the topology
    changes.

    Args:
        key: serde of the (new) keys.
        value: serde of the values; of a stream that of the stream if missing.
        name: begins the name of the repartition topic.

    >>> from millstream import Consumed, Grouped, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> orders = builder.stream("orders", Consumed(Serdes.string, Serdes.json))
    >>> table = orders.group_by(lambda key, order: order["region"], Grouped(Serdes.string, name="by-region")).count()
    >>> list(builder.build().internal_topics)
    ['by-region-repartition']
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    name: str | None = None


@dataclass(frozen=True)
class Repartitioned(_Option):
    """How `repartition` writes its topic.

    Use it to name the topic and to say how many partitions it has.

    Args:
        key: serde of the keys; that of the stream if missing.
        value: serde of the values; that of the stream if missing.
        name: begins the name of the topic.
        partitions: how many; by default as many as the topics it is fed from.
        partitioner: `(topic, key, value, partitions)` to a partition; Kafka's way if missing.

    >>> from millstream import Consumed, Repartitioned, Serdes, StreamsBuilder
    >>> builder = StreamsBuilder()
    >>> words = builder.stream("words", Consumed(Serdes.string, Serdes.string))
    >>> words.repartition(Repartitioned(name="spread", partitions=12)).to("out")
    >>> builder.build().internal_topics
    {'spread-repartition': 12}
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    name: str | None = None
    partitions: int | None = None
    partitioner: StreamPartitioner | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.partitions is not None and (not isinstance(self.partitions, int) or self.partitions < 1):
            raise ArgumentError("partitions must be a number of at least 1", detail=f"it is {self.partitions!r}")


@dataclass(frozen=True)
class Joined(_Option):
    """How a stream is joined with a table.

    Use it for serdes and names, and for `grace`: it holds stream records back that long, so that a versioned table can
    catch up with them.

    Args:
        key: serde of the keys; that of the stream if missing.
        value: serde of the stream's values; that of the stream if missing.
        other_value: serde of the table's values.
        name: of the join, and of its repartition topic if it needs one.
        grace: how long records wait for the table, which must be versioned.

    >>> from millstream import Consumed, Joined, Produced, Serdes, StreamsBuilder
    >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
    >>> names = builder.table("names", Consumed(*text))
    >>> orders = builder.stream("orders", Consumed(*text)).select_key(lambda key, order: order[:2])
    >>> named = orders.join(names, lambda order, name: name, Joined(Serdes.string, name="orders-names"))
    >>> list(builder.build().internal_topics)
    ['orders-names-repartition']
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    other_value: Serde[Any] | None = None
    name: str | None = None
    grace: timedelta | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grace is not None:
            milliseconds(self.grace, "grace")


@dataclass(frozen=True)
class StreamJoined(_Option):
    """How two streams are joined: serdes, names and stores of the two windows.

    Use it to give the join's stores names that stay, or stores of your own.

    Args:
        key: serde of the keys; that of the left stream if missing.
        value: serde of the left values; that of the left stream if missing.
        other_value: serde of the right values; that of the right stream if missing.
        name: of the join's nodes and repartition topics.
        store_name: begins the names of the join's stores.
        this_store: the left store, from `Stores`, with duplicates and the join's size and retention.
        other_store: the right store.
        logging: keep the stores' changes in Kafka; a mapping has settings of their changelog topics.
        dsl_store: "rocksdb", "in_memory" or `DslStoreSuppliers`, for stores that are not given; the configuration's
            choice if missing.

    >>> from datetime import timedelta
    >>> from millstream import Consumed, JoinWindows, Serdes, StreamJoined, StreamsBuilder
    >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
    >>> left, right = (builder.stream(topic, Consumed(*text)) for topic in ("left", "right"))
    >>> minute = JoinWindows.of_time_difference(timedelta(minutes=1))
    >>> pairs = left.join(right, lambda one, two: one + two, minute, StreamJoined(store_name="pairs"))
    >>> list(builder.build().stores)
    ['pairs-this-join-store', 'pairs-other-join-store']
    """

    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    other_value: Serde[Any] | None = None
    name: str | None = None
    store_name: str | None = None
    this_store: StoreSupplier | None = None
    other_store: StoreSupplier | None = None
    logging: bool | Mapping[str, str] = field(default=True, hash=False)
    dsl_store: DslStore | DslStoreSuppliers | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_dsl_store(self.dsl_store, self.this_store or self.other_store)
        if self.store_name is not None:
            check_name(self.store_name, "state store")
        if self.this_store and self.other_store and self.this_store.name == self.other_store.name:
            raise ArgumentError(
                "the two stores of a join need different names", detail=f"both are called '{self.this_store.name}'"
            )


@dataclass(frozen=True)
class TableJoined(_Option):
    """How two tables are joined on a foreign key: a name for its nodes and topics, partitioners for its topics.

    Use it with `KTable.join(..., foreign_key=...)`. Give a name: the join has two internal topics.

    Args:
        partitioner: of the topic that brings answers back to the left table; as the left table's topic is partitioned.
        other_partitioner: of the topic that asks the right table; as the right table's topic is partitioned.
        name: of the nodes, the internal topics and the store of subscriptions.

    >>> from millstream import Consumed, Serdes, StreamsBuilder, TableJoined
    >>> builder, text = StreamsBuilder(), (Serdes.string, Serdes.string)
    >>> orders, users = (builder.table(topic, Consumed(*text)) for topic in ("orders", "users"))
    >>> named = TableJoined(name="orders-users")
    >>> table = orders.join(users, lambda order, user: user, foreign_key=lambda order: order[:2], table_joined=named)
    >>> for topic in builder.build().internal_topics: print(topic)
    orders-users-subscription-registration-topic
    orders-users-subscription-response-topic
    """

    partitioner: StreamPartitioner | None = None
    other_partitioner: StreamPartitioner | None = None
    name: str | None = None


@dataclass(frozen=True)
class Materialized(_Option):
    """How a table is kept.

    Use it to name a store, so that it can be looked into and stays the same when the topology changes; to give serdes
    of what an aggregation makes; to choose the kind of store.

    Args:
        name: of the store; a named store can be queried.
        key: serde of the keys.
        value: serde of the values.
        caching: collect updates and pass on the last of each key at commit.
        logging: keep the store's changes in Kafka, so that it survives everything; a mapping has settings of the
            changelog topic, as `{"min.compaction.lag.ms": "60000"}`.
        retention: how long windows are kept.
        store: the store itself, from `Stores`; its name counts.
        dsl_store: "rocksdb", "in_memory" or `DslStoreSuppliers`, without a store; the configuration's choice if
            missing.

    >>> from millstream import Consumed, Materialized, Serdes, Stores, StreamsBuilder
    >>> from millstream.testing import TopologyTestDriver
    >>> builder, in_memory = StreamsBuilder(), Materialized(store=Stores.in_memory_key_value("users"))
    >>> users = builder.table("users", Consumed(Serdes.string, Serdes.string), in_memory)
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.input_topic("users", Serdes.string, Serdes.string).pipe("u1", "Ann", timestamp=3)
    ...     driver.timestamped_key_value_store("users").get("u1")
    ValueAndTimestamp(value='Ann', timestamp=3)
    """

    name: str | None = None
    key: Serde[Any] | None = None
    value: Serde[Any] | None = None
    caching: bool = True
    logging: bool | Mapping[str, str] = field(default=True, hash=False)
    retention: timedelta | None = None
    store: StoreSupplier | None = None
    dsl_store: DslStore | DslStoreSuppliers | None = None

    def __post_init__(self) -> None:
        if isinstance(self.name, StoreSupplier):
            raise ArgumentError(
                "Materialized takes a store's name first",
                detail=f"it was given {self.name!r}",
                hint="write Materialized(store=...)",
            )
        super().__post_init__()
        if self.retention is not None:
            milliseconds(self.retention, "retention")
        if self.store is not None and self.name is not None and self.store.name != self.name:
            raise ArgumentError(
                "Materialized has two names", detail=f"name='{self.name}', but the store is called '{self.store.name}'"
            )
        _check_dsl_store(self.dsl_store, self.store)

    @property
    def store_name(self) -> str | None:
        """The name the user gave to the store, if any.

        >>> Materialized("counts").store_name
        'counts'
        """
        return self.store.name if self.store is not None else self.name
