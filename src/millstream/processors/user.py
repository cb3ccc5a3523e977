"""Operators that run processors of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from millstream.errors import StreamsError, TopologyError, describe_callable
from millstream.processors.api import FixedKeyProcessor, Processor, Punctuator
from millstream.processors.context import TaskContext
from millstream.processors.operator import Operator, OperatorFactory
from millstream.processors.user_context import HostContext, RuntimeFixedKeyContext, RuntimeProcessorContext
from millstream.records import FixedKeyRecord, Headers, Record


class UserOperator(Operator):
    """What `Processor` and `FixedKeyProcessor` have in common.

    Around the user's code the task's context carries the record's timestamp and headers, for stores the user writes to.
    """

    context: HostContext
    hosts_user_code = True

    #: What its supplier must return, and what that is given.
    kind: type[Any]
    record: type[Any]
    context_type: type[Any]

    def __init__(self, supplier: Callable[[], Any]) -> None:
        self._processor = _supplied(supplier, self.kind)
        self._process = self._processor.process
        # Forwarding is possible only while the task is inside this node.
        self._running = False

    def init(self, context: TaskContext) -> None:
        super().init(context)
        processor_context = self.context_type(self.context, self.name, self._processor, self.punctuate, self.send)
        self._processor.context = processor_context
        self._processor.init(processor_context)

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers | None) -> None:
        if headers is None:
            headers = Headers()
        context = self.context
        context.timestamp = timestamp
        context.headers = headers
        self._running = True
        try:
            self._process(self.record(key, value, timestamp, headers))
        finally:
            self._running = False

    def close(self) -> None:
        self._processor.close()

    def send(self, record: Any, child: str | None = None) -> None:
        """Forward a record to all children or to one."""
        if not self._running:
            raise StreamsError(
                f"'{self.name}' cannot forward now",
                detail="forward was called outside of process and punctuators",
                hint="suppliers must return a new processor each time; init, close and other threads cannot forward",
            )
        if child is None:
            forward = self.forward
        else:
            try:
                forward = self.children[child]
            except KeyError:
                raise StreamsError(
                    f"'{self.name}' has no child '{child}'",
                    detail=f"its children are {', '.join(self.children) or 'none'}",
                    hint="a child is a node that names this one as its parent",
                ) from None
        context = self.context
        timestamp, headers = context.timestamp, context.headers
        context.timestamp = record.timestamp
        context.headers = record.headers
        try:
            forward(record.key, record.value, record.timestamp, record.headers)
        finally:
            context.timestamp = timestamp
            context.headers = headers

    def punctuate(self, punctuator: Punctuator, now: int) -> None:
        """Call a punctuator of the user's."""
        self._running = True
        try:
            punctuator(now)
        finally:
            self._running = False


class ProcessorOperator(UserOperator):
    """Runs a `Processor`."""

    kind = Processor
    record: type[Any] = Record
    context_type: type[Any] = RuntimeProcessorContext


class FixedKeyOperator(UserOperator):
    """Runs a `FixedKeyProcessor`."""

    kind = FixedKeyProcessor
    record: type[Any] = FixedKeyRecord
    context_type: type[Any] = RuntimeFixedKeyContext


def processor_operator(supplier: Callable[[], Processor[Any, Any, Any, Any]]) -> OperatorFactory:
    """The factory of a node that runs the supplier's processors."""
    return partial(ProcessorOperator, supplier)


def fixed_key_operator(supplier: Callable[[], FixedKeyProcessor[Any, Any, Any]]) -> OperatorFactory:
    """The factory of a node that runs the supplier's fixed-key processors."""
    return partial(FixedKeyOperator, supplier)


def _supplied(supplier: Callable[[], Any], kind: type) -> Any:
    processor = supplier()
    if not isinstance(processor, kind):
        raise TopologyError(
            f"a supplier must return a {kind.__name__}",
            detail=f"{describe_callable(supplier)} returned {processor!r}",
            hint=f"subclass {kind.__name__} and pass the class",
        )
    return processor
