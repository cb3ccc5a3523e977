"""Kafka Streams and ksqlDB for Python.

Everything public is imported from here; what helps in tests is in `millstream.testing`.
"""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from millstream._public import *  # noqa: F403
    from millstream.spark.client import KafkaStreams
    from millstream.spark.life import State, UncaughtAction
    from millstream.sql.engine.api import Ksql
    from millstream.sql.errors import SqlError, StatementError
    from millstream.sql.functions.user import udaf, udf, udtf
    from millstream.views.readonly import (
        ReadOnlyKeyValueView,
        ReadOnlySessionView,
        ReadOnlyVersionedView,
        ReadOnlyWindowView,
    )

__version__ = "0.1.0"

#: Names that bring much along: Spark, the Kafka clients, SQL.
_HEAVY = {
    "KafkaStreams": "millstream.spark.client",
    **dict.fromkeys(("State", "UncaughtAction"), "millstream.spark.life"),
    "Ksql": "millstream.sql.engine.api",
    **dict.fromkeys(("SqlError", "StatementError"), "millstream.sql.errors"),
    **dict.fromkeys(
        ("ReadOnlyKeyValueView", "ReadOnlySessionView", "ReadOnlyVersionedView", "ReadOnlyWindowView"),
        "millstream.views.readonly",
    ),
    **dict.fromkeys(("udaf", "udf", "udtf"), "millstream.sql.functions.user"),
}

__all__ = [
    "AggregationWithHeaders",
    "ArgumentError",
    "Branched",
    "BranchedKStream",
    "BufferConfig",
    "Cancellable",
    "CheckpointDamaged",
    "CogroupedKStream",
    "Consumed",
    "ConsumedRecord",
    "DefaultProductionExceptionHandler",
    "DeserializationError",
    "DslKeyValueParams",
    "DslSessionParams",
    "DslStoreSuppliers",
    "DslWindowParams",
    "EmitStrategy",
    "ErrorHandlerContext",
    "FailOnInvalidTimestamp",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "FixedKeyRecord",
    "GlobalKTable",
    "Grouped",
    "Headers",
    "JoinWindows",
    "Joined",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "Ksql",
    "LogAndContinueExceptionHandler",
    "LogAndContinueProcessingExceptionHandler",
    "LogAndFailExceptionHandler",
    "LogAndFailProcessingExceptionHandler",
    "LogAndSkipOnInvalidTimestamp",
    "Materialized",
    "MillstreamError",
    "NotReady",
    "NotUpToBound",
    "Position",
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "ProcessorSupplier",
    "ProcessorWrapper",
    "Produced",
    "ProducedRecord",
    "ProductionError",
    "PunctuationType",
    "ReadOnlyKeyValueView",
    "ReadOnlySessionView",
    "ReadOnlyVersionedView",
    "ReadOnlyWindowView",
    "Record",
    "RecordContext",
    "RecordMetadata",
    "RegistryError",
    "Repartitioned",
    "Requirements",
    "Response",
    "Scheduled",
    "SchemaReference",
    "Serde",
    "SerdeError",
    "Serdes",
    "ServerSettings",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindows",
    "SlidingWindows",
    "SqlError",
    "State",
    "StateStore",
    "StateStoreError",
    "StatementError",
    "StoreBuilder",
    "StoreSupplier",
    "Stores",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsConfig",
    "StreamsError",
    "Suppressed",
    "TableJoined",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindows",
    "Tls",
    "Topology",
    "TopologyDescription",
    "TopologyError",
    "TransformerContext",
    "UncaughtAction",
    "UnknownStore",
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTimestampHeaders",
    "ValueTransformer",
    "VersionedRecord",
    "ViewError",
    "WallclockTimestampExtractor",
    "Window",
    "Windowed",
    "udaf",
    "udf",
    "udtf",
]


if not _typing.TYPE_CHECKING:  # which would take every name for one that is there

    def __getattr__(name: str) -> _typing.Any:
        # Nothing is imported before it is asked for: the test of a topology needs neither Java nor a broker, and Spark
        # starts several processes, one after the other, that only pass bytes on.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_HEAVY.get(name, "millstream._public")), name)
        return value
