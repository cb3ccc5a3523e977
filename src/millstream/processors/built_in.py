"""Built-in operators as processors, for nodes that a `ProcessorWrapper` wraps.

A node with a wrapper runs the wrapper's processor. Somewhere inside is a `BuiltInProcessor`, which hands records to the
operator; what the operator forwards leaves by the context that the wrapper has given.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from millstream.processors.api import Processor, ProcessorContext
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator, OperatorFactory
from millstream.processors.user import ProcessorOperator
from millstream.records import Headers, Record

#: The node that is being initialised. Contexts cannot tell: the one that a wrapper hands on may be its own.
_NODE: ContextVar[WrappedOperator] = ContextVar("node")


class WrappedOperator(ProcessorOperator):
    """A node of a built-in operator with a wrapper around it."""

    def __init__(self, supplier: Callable[[], Any]) -> None:
        super().__init__(supplier)
        #: The operators inside: one, unless the wrapper makes none or several.
        self.inside: list[Operator] = []

    def init(self, context: TaskContext) -> None:
        token = _NODE.set(self)
        try:
            super().init(context)
        finally:
            _NODE.reset(token)

    def clock(self) -> list[int] | None:
        return self.inside[0].clock() if self.inside else None

    def set_clock(self, values: list[int]) -> None:
        for operator in self.inside:
            operator.set_clock(values)

    def forward_from_inside(self, forward: Callable[..., None], *arguments: Any) -> None:
        """Let an operator forward, which it may do while caches are flushed too."""
        running, self._running = self._running, True
        try:
            forward(*arguments)
        finally:
            self._running = running


class BuiltInProcessor(Processor[Any, Any, Any, Any]):
    """A built-in operator as a processor."""

    def __init__(self, factory: OperatorFactory) -> None:
        self._operator = factory()

    def init(self, context: ProcessorContext[Any, Any]) -> None:
        super().init(context)
        node, operator = _NODE.get(), self._operator
        self._node = node
        operator.name = node.name
        operator.forward = self._forward
        operator.children = {  # for those that forward to one child by name
            child: partial(self._forward, child=child) for child in node.children
        }
        node.inside.append(operator)
        operator.init(node.context)

    def process(self, record: Record[Any, Any]) -> None:
        self._operator.process(record.key, record.value, record.timestamp, record.headers)

    def close(self) -> None:
        self._operator.close()

    def _forward(self, key: Any, value: Any, timestamp: int, headers: Headers | None, child: str | None = None) -> None:
        record = Record(key, value, timestamp, headers)
        self._node.forward_from_inside(self.context.forward, record, child)
