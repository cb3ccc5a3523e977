"""The Processor API: what users write when the DSL has no operator for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

from millstream.processors.punctuation import Cancellable, PunctuationType, Punctuator, Scheduled
from millstream.records import FixedKeyRecord, Headers, Record, RecordMetadata
from millstream.serdes.serde import AnySerde

__all__ = [
    "Cancellable",
    "FixedKeyProcessor",
    "FixedKeyProcessorContext",
    "ProcessingContext",
    "Processor",
    "ProcessorContext",
    "PunctuationType",
    "Punctuator",
    "Scheduled",
    "TransformerContext",
    "ValueTransformer",
]

KIn = TypeVar("KIn")
VIn = TypeVar("VIn")
KOut = TypeVar("KOut")
VOut = TypeVar("VOut")


class ProcessingContext(ABC):
    """What every processor can ask of its task."""

    @property
    @abstractmethod
    def application_id(self) -> str:
        """The application's id."""

    @property
    @abstractmethod
    def task_id(self) -> str:
        """The task: `<sub-topology>_<partition>`."""

    @property
    @abstractmethod
    def state_dir(self) -> Path | None:
        """Where the task's persistent stores are; None when they are kept in memory."""

    @property
    @abstractmethod
    def key_serde(self) -> AnySerde | None:
        """The configuration's default serde for keys."""

    @property
    @abstractmethod
    def value_serde(self) -> AnySerde | None:
        """The configuration's default serde for values."""

    @property
    @abstractmethod
    def app_configs(self) -> Mapping[str, Any]:
        """The configuration, by option name."""

    def app_configs_with_prefix(self, prefix: str) -> dict[str, Any]:
        """The part of the configuration whose names begin with a prefix, without it."""
        return {name.removeprefix(prefix): value for name, value in self.app_configs.items() if name.startswith(prefix)}

    @abstractmethod
    def record_metadata(self) -> RecordMetadata | None:
        """Where the input record came from: `(None, -1, -1)` in a punctuation, None in `init`."""

    @abstractmethod
    def state_store(self, name: str) -> Any:
        """A store connected to this processor, or a global store (read-only).

        Raises:
            StateStoreError: there is no such store, or it is not connected.
        """

    @abstractmethod
    def schedule(
        self, interval: timedelta, type_: PunctuationType, callback: Punctuator, start: datetime | None = None
    ) -> Scheduled:
        """Have `callback` called with the current time at every interval.

        However many intervals have passed it is called once, and then again at the next whole interval.

        A task that moves to another process, or is restarted, goes on with its schedules as they are due, cancelled
        ones included. It calls `init` there, and finds the callback of a schedule that was made later by its name:
        a method of the processor, or `functools.partial` of one with plain arguments (text, bytes, numbers, booleans,
        None). Any other callback that is scheduled after `init` is lost, as all of them are in Kafka Streams.

        Args:
            interval: at least one millisecond.
            type_: which clock to follow.
            callback: may forward and use stores, like `process`.
            start: calls are due at whole intervals after this time. By default the first stream-time call is due with
                the first record, and the first wall-clock call one interval from now.
        """

    @property
    @abstractmethod
    def schedules(self) -> list[Scheduled]:
        """What this processor has scheduled and not cancelled, the next one first: stream time, then wall clock.

        So a processor that was moved gets hold of what it scheduled elsewhere, from its first record on.
        """

    @abstractmethod
    def commit(self) -> None:
        """Ask for a commit as soon as possible."""

    @abstractmethod
    def current_stream_time_ms(self) -> int:
        """The greatest timestamp the task has taken so far; -1 before the first record."""

    @abstractmethod
    def current_system_time_ms(self) -> int:
        """The wall clock (in tests: the driver's)."""


class ProcessorContext(ProcessingContext, Generic[KOut, VOut]):
    """The context of a `Processor`."""

    @abstractmethod
    def forward(self, record: Record[KOut, VOut], child: str | None = None) -> None:
        """Hand a record to all children in order, or to the one named.

        Returns when everything below has processed it.

        Raises:
            StreamsError: no such child, or called outside `process` and punctuators.
        """


class FixedKeyProcessorContext(ProcessingContext, Generic[KIn, VOut]):
    """The context of a `FixedKeyProcessor`."""

    @abstractmethod
    def forward(self, record: FixedKeyRecord[KIn, VOut], child: str | None = None) -> None:
        """Hand a record to all children in order, or to the one named; see `ProcessorContext.forward`."""


class TransformerContext(ProcessingContext):
    """The context of a `ValueTransformer`. Its results are what it returns, so it cannot forward."""

    @property
    @abstractmethod
    def timestamp(self) -> int:
        """The record's event time."""

    @property
    @abstractmethod
    def headers(self) -> Headers:
        """The record's headers."""


class Processor(Generic[KIn, VIn, KOut, VOut]):
    """A node of the user's own.

    Each task has its own instance. `self.context` is set before `init` is called.

    >>> class Shout(Processor[str, str, str, str]):
    ...     def process(self, record):
    ...         self.context.forward(record.with_value(record.value.upper()))
    """

    context: ProcessorContext[KOut, VOut]

    def init(self, context: ProcessorContext[KOut, VOut]) -> None:
        """Called once before the first record: get stores, schedule punctuators. Forwarding is not possible here."""
        self.context = context

    def process(self, record: Record[KIn, VIn]) -> None:
        """Handle one record; forward any number of results."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end, while stores are still open."""


class FixedKeyProcessor(Generic[KIn, VIn, VOut]):
    """A processor that leaves keys as they are, so that nothing below it needs re-partitioning."""

    context: FixedKeyProcessorContext[KIn, VOut]

    def init(self, context: FixedKeyProcessorContext[KIn, VOut]) -> None:
        """Called once before the first record; see `Processor.init`."""
        self.context = context

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        """Handle one record; forward any number of results."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end, while stores are still open."""


class ValueTransformer(Generic[KIn, VIn, VOut]):
    """Computes a table's values, with access to stores: for `KTable.transform_values`."""

    context: TransformerContext

    def init(self, context: TransformerContext) -> None:
        """Called once before the first record."""
        self.context = context

    def transform(self, key: KIn, value: VIn) -> VOut:
        """The new value; None deletes. Depends on nothing but its arguments and its stores."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once at the end, while stores are still open."""
