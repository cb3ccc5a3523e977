"""For tests: `TopologyTestDriver` runs a topology in process, `MockProcessorContext` a single processor."""

from __future__ import annotations

from millstream.registry import InMemoryRegistry
from millstream.testing.driver import TopologyTestDriver
from millstream.testing.mock_context import CapturedForward, CapturedPunctuator, MockProcessorContext
from millstream.testing.topics import EmptyTopicError, TestInputTopic, TestOutputTopic, TestRecord

__all__ = [
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
