"""A processor's context for tests of a single processor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from millstream.durations import milliseconds
from millstream.errors import StateStoreError
from millstream.processors.api import FixedKeyProcessorContext, ProcessorContext
from millstream.processors.punctuation import PunctuationType, Punctuator, Scheduled
from millstream.records import NO_TIMESTAMP, FixedKeyRecord, Record, RecordMetadata
from millstream.serdes import Serde
from millstream.state.store import StateStore, StoreContext
from millstream.testing.clock import Clock, ClockedContext


@dataclass(frozen=True)
class CapturedForward:
    """A record that the processor forwarded, and the child it named."""

    record: Record[Any, Any] | FixedKeyRecord[Any, Any]
    child: str | None = None


class CapturedPunctuator(Scheduled):
    """A schedule of the processor; the test calls `punctuator` itself."""

    def __init__(
        self, interval_ms: int, type_: PunctuationType, punctuator: Punctuator, start: datetime | None
    ) -> None:
        super().__init__(interval_ms, type_, punctuator)
        self.start = start


class MockProcessorContext(ProcessorContext[Any, Any], FixedKeyProcessorContext[Any, Any]):
    """Captures what a processor does. Pass it to `Processor.init` or `FixedKeyProcessor.init`.

    Example:
        context = MockProcessorContext()
        processor = Shout()
        processor.init(context)
        processor.process(Record("k", "v", 0))
        assert context.forwarded() == [CapturedForward(Record("k", "V", 0))]
    """

    def __init__(
        self,
        application_id: str = "app",
        task_id: str = "0_0",
        *,
        state_dir: Path | None = None,
        key_serde: Serde[Any] | None = None,
        value_serde: Serde[Any] | None = None,
        app_configs: Mapping[str, Any] | None = None,
    ) -> None:
        self._stores_context = ClockedContext(application_id, task_id, state_directory=state_dir)
        self._stores_context.clock = Clock(0)
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._app_configs = dict(app_configs or {})
        self._stores: dict[str, Any] = {}
        self._forwarded: list[CapturedForward] = []
        self._metadata: RecordMetadata | None = None
        self._stream_time = NO_TIMESTAMP
        #: The schedules made so far, cancelled ones included.
        self.scheduled_punctuators: list[CapturedPunctuator] = []
        #: Whether the processor asked for a commit.
        self.committed = False

    # --- what tests set and see

    def set_record_metadata(self, topic: str, partition: int, offset: int) -> None:
        """Say where the next records come from."""
        self._metadata = RecordMetadata(topic, partition, offset)
        store = self._stores_context
        store.topic, store.partition, store.offset = topic, partition, offset

    def set_current_stream_time_ms(self, time: int) -> None:
        """Set the stream time."""
        self._stream_time = time

    def set_current_system_time_ms(self, time: int) -> None:
        """Set the wall clock."""
        self._stores_context.clock.now = time

    def add_state_store(self, store: StateStore) -> None:
        """Give the processor a store, such as `Stores.key_value_store(...).build()`; it is opened here."""
        store.init(self._stores_context)
        self._stores[store.name] = store

    @property
    def state_store_context(self) -> StoreContext:
        """For stores that the test opens itself."""
        return self._stores_context

    def forwarded(self, child: str | None = None) -> list[CapturedForward]:
        """What was forwarded, in order; only what that child got, if one is named."""
        if child is None:
            return list(self._forwarded)
        return [forward for forward in self._forwarded if forward.child in (None, child)]

    def reset_forwards(self) -> None:
        """Forget what was forwarded."""
        self._forwarded.clear()

    def reset_commit(self) -> None:
        """Forget that a commit was asked for."""
        self.committed = False

    # --- what the processor calls

    def forward(self, record: Record[Any, Any] | FixedKeyRecord[Any, Any], child: str | None = None) -> None:
        self._forwarded.append(CapturedForward(record, child))

    @property
    def application_id(self) -> str:
        return self._stores_context.application_id

    @property
    def task_id(self) -> str:
        return self._stores_context.task_id

    @property
    def state_dir(self) -> Path | None:
        return self._stores_context.state_directory

    @property
    def key_serde(self) -> Serde[Any] | None:
        return self._key_serde

    @property
    def value_serde(self) -> Serde[Any] | None:
        return self._value_serde

    @property
    def app_configs(self) -> Mapping[str, Any]:
        return self._app_configs

    def record_metadata(self) -> RecordMetadata | None:
        return self._metadata

    def state_store(self, name: str) -> Any:
        try:
            return self._stores[name]
        except KeyError:
            raise StateStoreError(
                f"the mock context has no state store '{name}'",
                detail=f"it has {', '.join(self._stores) or 'none'}",
                hint="add it with add_state_store",
            ) from None

    def schedule(
        self, interval: timedelta, type_: PunctuationType, callback: Punctuator, start: datetime | None = None
    ) -> Scheduled:
        captured = CapturedPunctuator(milliseconds(interval, "interval", minimum=1), type_, callback, start)
        self.scheduled_punctuators.append(captured)
        return captured

    @property
    def schedules(self) -> list[Scheduled]:
        return [captured for captured in self.scheduled_punctuators if not captured.cancelled]

    def commit(self) -> None:
        self.committed = True

    def current_stream_time_ms(self) -> int:
        return self._stream_time

    def current_system_time_ms(self) -> int:
        return self._stores_context.now()
