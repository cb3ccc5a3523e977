"""The public names that need neither Spark nor a Kafka client. `millstream` has them, and the others."""

from __future__ import annotations

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
    "StateStore",
    "StateStoreError",
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
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTransformer",
    "VersionedRecord",
    "WallclockTimestampExtractor",
    "Window",
    "Windowed",
]
