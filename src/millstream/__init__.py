"""Kafka Streams and ksqlDB for Python.

Everything public is imported from here; what helps in tests is in `millstream.testing`.
"""

from __future__ import annotations

import typing as _typing

from millstream.config import StreamsConfig
from millstream.dsl.branched import Branched, BranchedKStream
from millstream.dsl.builder import StreamsBuilder
from millstream.dsl.cogrouped import (
    CogroupedKStream,
    SessionWindowedCogroupedKStream,
    TimeWindowedCogroupedKStream,
)
from millstream.dsl.grouped import KGroupedStream
from millstream.dsl.grouped_table import KGroupedTable
from millstream.dsl.kstream import KStream
from millstream.dsl.ktable import GlobalKTable, KTable
from millstream.dsl.options import (
    Consumed,
    Grouped,
    Joined,
    Materialized,
    Produced,
    Repartitioned,
    StreamJoined,
    TableJoined,
)
from millstream.dsl.windowed import SessionWindowedKStream, TimeWindowedKStream
from millstream.errors import (
    ArgumentError,
    DeserializationError,
    MillstreamError,
    ProcessingError,
    ProductionError,
    SerdeError,
    StateStoreError,
    StreamsError,
    TopologyError,
)
from millstream.extractors import (
    ConsumedRecord,
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)
from millstream.handlers import (
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
    ProducedRecord,
    Response,
)
from millstream.processors.api import (
    Cancellable,
    FixedKeyProcessor,
    FixedKeyProcessorContext,
    Processor,
    ProcessorContext,
    PunctuationType,
    TransformerContext,
    ValueTransformer,
)
from millstream.records import (
    FixedKeyRecord,
    Headers,
    Record,
    RecordContext,
    RecordMetadata,
    ValueAndTimestamp,
    Window,
    Windowed,
)
from millstream.serdes import Serde, Serdes
from millstream.state import StateStore, StoreBuilder, Stores, StoreSupplier, VersionedRecord
from millstream.suppressed import BufferConfig, Suppressed
from millstream.topology import Topology, TopologyDescription
from millstream.windows import (
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    TimeWindows,
    UnlimitedWindows,
)

if _typing.TYPE_CHECKING:
    from millstream.spark.client import KafkaStreams, State, UncaughtAction
    from millstream.sql.engine.api import Ksql
    from millstream.sql.errors import SqlError, StatementError
    from millstream.sql.functions.user import udaf, udf, udtf

__version__ = "0.1.0"

#: Names that bring much along (Spark, the Kafka clients, SQL), imported when they are first asked for.
_LATER = {
    **dict.fromkeys(("KafkaStreams", "State", "UncaughtAction"), "millstream.spark.client"),
    "Ksql": "millstream.sql.engine.api",
    **dict.fromkeys(("SqlError", "StatementError"), "millstream.sql.errors"),
    **dict.fromkeys(("udaf", "udf", "udtf"), "millstream.sql.functions.user"),
}

__all__ = [
    "ArgumentError",
    "Branched",
    "BranchedKStream",
    "BufferConfig",
    "Cancellable",
    "CogroupedKStream",
    "Consumed",
    "ConsumedRecord",
    "DefaultProductionExceptionHandler",
    "DeserializationError",
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
    "ProcessingError",
    "Processor",
    "ProcessorContext",
    "Produced",
    "ProducedRecord",
    "ProductionError",
    "PunctuationType",
    "Record",
    "RecordContext",
    "RecordMetadata",
    "Repartitioned",
    "Response",
    "Serde",
    "SerdeError",
    "Serdes",
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
    "Topology",
    "TopologyDescription",
    "TopologyError",
    "TransformerContext",
    "UncaughtAction",
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTransformer",
    "VersionedRecord",
    "WallclockTimestampExtractor",
    "Window",
    "Windowed",
    "udaf",
    "udf",
    "udtf",
]


def __getattr__(name: str) -> _typing.Any:
    if name in _LATER:
        from importlib import import_module  # a test of a topology needs neither Java nor a broker

        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
