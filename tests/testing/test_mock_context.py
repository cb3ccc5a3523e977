"""`MockProcessorContext` captures what a processor does."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from millstream.errors import StateStoreError
from millstream.processors.api import Processor, PunctuationType
from millstream.records import Record, RecordMetadata
from millstream.serdes import Serdes
from millstream.state import Stores
from millstream.testing import CapturedForward, MockProcessorContext


class Busy(Processor[str, str, str, str]):
    def init(self, context: Any) -> None:
        super().init(context)
        self.seen = context.state_store("seen")
        self.schedule = context.schedule(timedelta(seconds=1), PunctuationType.STREAM_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.seen.put(record.key, str(self.context.record_metadata()))
        self.context.forward(record)
        self.context.forward(record.with_value("again"), "left")
        self.context.commit()

    def tick(self, now: int) -> None:
        self.context.forward(Record("tick", str(self.context.current_stream_time_ms()), now))
        self.schedule.cancel()


def test_it_captures_forwards_schedules_and_commits() -> None:
    context = MockProcessorContext(app_configs={"limit": 3, "mail.host": "a", "mail.port": 25})
    context.add_state_store(
        Stores.key_value_store(Stores.in_memory_key_value("seen"), Serdes.string, Serdes.string).build()
    )
    processor = Busy()
    processor.init(context)
    context.set_record_metadata("in", 1, 7)
    processor.process(Record("k", "v", 0))

    assert context.committed
    assert context.state_store("seen").get("k") == str(RecordMetadata("in", 1, 7))
    whole, named = CapturedForward(Record("k", "v", 0)), CapturedForward(Record("k", "again", 0), "left")
    assert context.forwarded() == [whole, named]
    assert context.forwarded("right") == [whole]
    assert context.app_configs["limit"] == 3
    assert context.app_configs_with_prefix("mail.") == {"host": "a", "port": 25}

    context.reset_forwards()
    context.reset_commit()
    assert not context.committed
    context.set_current_stream_time_ms(50)
    context.set_current_system_time_ms(60)
    [schedule] = context.scheduled_punctuators
    assert (schedule.interval_ms, schedule.type) == (1000, PunctuationType.STREAM_TIME)
    assert context.schedules == [schedule]
    schedule.punctuator(55)
    assert context.forwarded() == [CapturedForward(Record("tick", "50", 55))]
    assert schedule.cancelled
    assert context.schedules == []
    assert context.current_system_time_ms() == 60


def test_an_unknown_store_is_an_error() -> None:
    with pytest.raises(StateStoreError, match="no state store 'x'"):
        MockProcessorContext().state_store("x")
