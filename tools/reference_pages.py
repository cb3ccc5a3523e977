"""The pages of the API reference: which public name is on which. mkdocstrings fills them from the docstrings."""

from __future__ import annotations

import importlib
import inspect

#: Title and file of each page, and its names in the order in which one meets them.
GROUPS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Building and running", "running.md"): (
        "StreamsBuilder",
        "StreamsConfig",
        "KafkaStreams",
        "State",
        "UncaughtAction",
        "Topology",
        "TopologyDescription",
    ),
    ("Streams and tables", "streams-and-tables.md"): (
        "KStream",
        "KTable",
        "GlobalKTable",
        "KGroupedStream",
        "KGroupedTable",
        "CogroupedKStream",
        "TimeWindowedKStream",
        "SessionWindowedKStream",
        "TimeWindowedCogroupedKStream",
        "SessionWindowedCogroupedKStream",
        "BranchedKStream",
    ),
    ("Options of operators", "options.md"): (
        "Consumed",
        "Produced",
        "Grouped",
        "Materialized",
        "Joined",
        "StreamJoined",
        "TableJoined",
        "Repartitioned",
        "Branched",
        "Suppressed",
        "BufferConfig",
        "EmitStrategy",
    ),
    ("Windows", "windows.md"): (
        "TimeWindows",
        "SessionWindows",
        "SlidingWindows",
        "UnlimitedWindows",
        "JoinWindows",
        "Window",
        "Windowed",
    ),
    ("Processor API", "processor-api.md"): (
        "Processor",
        "ProcessorContext",
        "FixedKeyProcessor",
        "FixedKeyProcessorContext",
        "ValueTransformer",
        "TransformerContext",
        "PunctuationType",
        "Cancellable",
        "Scheduled",
        "ProcessorWrapper",
        "ProcessorSupplier",
    ),
    ("Records", "records.md"): (
        "Record",
        "FixedKeyRecord",
        "Headers",
        "RecordMetadata",
        "RecordContext",
        "ValueAndTimestamp",
        "ValueTimestampHeaders",
        "AggregationWithHeaders",
        "VersionedRecord",
        "ConsumedRecord",
        "ProducedRecord",
    ),
    ("State stores", "state-stores.md"): (
        "Stores",
        "StoreBuilder",
        "StoreSupplier",
        "StateStore",
        "DslStoreSuppliers",
        "DslKeyValueParams",
        "DslWindowParams",
        "DslSessionParams",
    ),
    ("Views", "views.md"): (
        "ReadOnlyKeyValueView",
        "ReadOnlyWindowView",
        "ReadOnlySessionView",
        "ReadOnlyVersionedView",
        "Requirements",
        "Position",
        "ServerSettings",
        "Tls",
    ),
    ("Serdes", "serdes.md"): ("Serdes", "Serde", "SchemaReference"),
    ("Handlers and timestamps", "handlers.md"): (
        "Response",
        "ErrorHandlerContext",
        "LogAndFailExceptionHandler",
        "LogAndContinueExceptionHandler",
        "LogAndFailProcessingExceptionHandler",
        "LogAndContinueProcessingExceptionHandler",
        "DefaultProductionExceptionHandler",
        "FailOnInvalidTimestamp",
        "LogAndSkipOnInvalidTimestamp",
        "UsePartitionTimeOnInvalidTimestamp",
        "WallclockTimestampExtractor",
    ),
    ("Agents", "agents.md"): (
        "agents.App",
        "agents.Agent",
        "agents.Topic",
        "agents.Record",
        "agents.Stream",
        "agents.Event",
        "agents.current_event",
        "agents.Table",
        "agents.WindowedTable",
    ),
    ("SQL", "sql.md"): ("Ksql", "udf", "udaf", "udtf"),
    ("Errors", "errors.md"): (
        "MillstreamError",
        "ArgumentError",
        "TopologyError",
        "StreamsError",
        "SerdeError",
        "RegistryError",
        "DeserializationError",
        "ProcessingError",
        "ProductionError",
        "StateStoreError",
        "CheckpointDamaged",
        "ViewError",
        "UnknownStore",
        "NotReady",
        "NotUpToBound",
        "SqlError",
        "StatementError",
    ),
    ("Testing", "testing.md"): (
        "testing.TopologyTestDriver",
        "testing.TestInputTopic",
        "testing.TestOutputTopic",
        "testing.TestRecord",
        "testing.EmptyTopicError",
        "testing.InMemoryRegistry",
        "testing.MockProcessorContext",
        "testing.CapturedForward",
        "testing.CapturedPunctuator",
    ),
}


def pages() -> dict[str, str]:
    """Markdown by the name of its file; `index.md` lists all names."""
    found = {}
    index = [
        "# API reference",
        "",
        "Everything is imported from `millstream`; agents from `millstream.agents`, and what helps in tests from",
        "`millstream.testing`.",
    ]
    for (title, file), names in GROUPS.items():
        entries = [f"::: {_defined(name)}\n    options:\n      heading: {name.rpartition('.')[2]}\n" for name in names]
        found[file] = "\n".join([f"# {title}\n", *entries])
        links = [f"[{name.rpartition('.')[2]}]({file}#{_defined(name)})" for name in names]
        index += ["", f"## {title}", "", " · ".join(links)]
    return {"index.md": "\n".join(index) + "\n", **found}


def _defined(name: str) -> str:
    """Where a public name is defined: the reference is read from there."""
    module, _, last = f"millstream.{name}".rpartition(".")
    value = getattr(importlib.import_module(module), last)
    home = inspect.getmodule(value)
    # What was made otherwise than by `class` and `def` (type variables, instances) is told where it is handed out.
    return f"{home.__name__}.{last}" if home is not None and hasattr(home, last) else f"{module}.{last}"
