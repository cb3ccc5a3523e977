"""What users can import: exactly what `__all__` says, and the modules."""

from __future__ import annotations

import pkgutil
from types import ModuleType

import pytest

import millstream
import millstream.testing

#: Every public name, in order; a change of this list is a change of the interface.
NAMES = [
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

TESTING_NAMES = [
    "CapturedForward",
    "CapturedPunctuator",
    "EmptyTopicError",
    "InMemoryRegistry",
    "MockProcessorContext",
    "TestInputTopic",
    "TestOutputTopic",
    "TestRecord",
    "TopologyTestDriver",
]

PACKAGES = pytest.mark.parametrize(
    ("package", "names"),
    [
        pytest.param(millstream, NAMES, id="millstream"),
        pytest.param(millstream.testing, TESTING_NAMES, id="millstream.testing"),
    ],
)


@PACKAGES
def test_the_public_names_are_these(package: ModuleType, names: list[str]) -> None:
    assert sorted(package.__all__) == sorted(names)
    assert len(set(package.__all__)) == len(package.__all__)


@PACKAGES
def test_every_public_name_can_be_imported(package: ModuleType, names: list[str]) -> None:
    assert [name for name in names if not hasattr(package, name)] == []


@PACKAGES
def test_nothing_else_is_public_but_modules(package: ModuleType, names: list[str]) -> None:
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert [name for name in names if not hasattr(package, name)] == []  # imports them
    public = {name for name in vars(package) if not name.startswith("_")} - {"annotations"}

    assert public - modules == set(names)


def test_every_public_class_says_what_it_is() -> None:
    without = [name for name in NAMES if not (getattr(millstream, name).__doc__ or "").strip()]

    assert without == []
