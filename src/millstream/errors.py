"""Everything Millstream raises.

MillstreamError                 root: primary, detail, hint
├── TopologyError               a topology that cannot be built (duplicate names, unknown parents, bad joins ...)
├── ArgumentError               an option or argument out of range (also a ValueError)
├── SerdeError                  a missing serde, or bytes or objects a serde cannot take
│   └── RegistryError           a schema registry is away, refuses a schema, or does not have one
├── StateStoreError             a store that is unknown, closed, locked or damaged
│   └── CheckpointDamaged       the checkpoint lacks something that the application has written
├── ViewError                   a question to a view that has no answer, at least not now (`retriable`)
│   ├── UnknownStore            there is no store of that name that can be asked
│   ├── WrongQuery              this kind of store does not answer this kind of question
│   ├── KeyRefused              the serde of the store's keys does not take the key
│   ├── OversizedScan           more rows than one answer may have
│   ├── NotReady                not started, still reading, or on the move: try again
│   ├── NotUpToBound            the copy is older than the caller allows: try again
│   ├── PartitionNotHere        this instance has no copy of the partition: ask another one
│   └── InstanceUnreachable     the instance that has the partition does not answer: try again
├── SqlError                    SQL (`millstream.sql.errors`): a StatementError is a statement that cannot be executed
└── StreamsError                something went wrong while records were processed
    ├── ProcessingError         a user function or processor raised; names the function and its line
    ├── DeserializationError    an input record could not be read
    ├── ProductionError         an output record could not be written
    └── FencedError             another instance of the application has taken over
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class MillstreamError(Exception):
    """The root of the tree.

    Args:
        primary: what is wrong, short, lower case, no full stop.
        detail: where, and what was seen.
        hint: what to do about it.
    """

    def __init__(self, primary: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(primary)
        self.primary = primary
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.primary]
        if self.detail:
            lines.append(f"  detail: {self.detail}")
        if self.hint:
            lines.append(f"  hint:   {self.hint}")
        return "\n".join(lines)


class TopologyError(MillstreamError):
    """The topology cannot be built as written."""


class ArgumentError(MillstreamError, ValueError):
    """An argument or option has a value that cannot work."""


class SerdeError(MillstreamError):
    """A serde is missing, or cannot take what it was given."""


class RegistryError(SerdeError):
    """A schema registry is away, refuses a schema, or does not have one."""


class StateStoreError(MillstreamError):
    """A state store is unknown, closed, locked or damaged."""


class CheckpointDamaged(StateStoreError):
    """The checkpoint lacks something that the application has written, or what is there cannot be right."""


class ViewError(MillstreamError):
    """A question to a view has no answer."""

    #: Whether the same question may have an answer a little later.
    retriable = False


class UnknownStore(ViewError):
    """There is no store of that name, or none that can be asked."""


class WrongQuery(ViewError):
    """The store is of a kind that does not answer such a question, or the question makes no sense."""


class KeyRefused(ViewError):
    """The serde of the store's keys does not take the key."""


class OversizedScan(ViewError):
    """The answer would have more rows than one answer may have."""


class NotReady(ViewError):
    """The view is not started, has not read up, or its partition is on the move."""

    retriable = True


class NotUpToBound(ViewError):
    """The copy is older than the caller allows."""

    retriable = True


class PartitionNotHere(ViewError):
    """This instance has no copy of the partition that it could answer from."""

    retriable = True


class InstanceUnreachable(ViewError):
    """The instance that has the partition does not answer."""

    retriable = True


class StreamsError(MillstreamError):
    """Processing stopped. The exception that caused it is `__cause__`."""


class ProcessingError(StreamsError):
    """A node raised while it processed a record or a punctuation."""


class DeserializationError(StreamsError):
    """An input record's bytes could not be turned into a key or a value."""


class ProductionError(StreamsError):
    """An output record could not be serialised or sent.

    Args:
        primary: what is wrong.
        detail: where, and what was seen.
        hint: what to do about it.
        code: Kafka's name of the error, such as `MSG_SIZE_TOO_LARGE`; None if the record never came to Kafka.
        retriable: whether it may help to write the record again.
        topic: where the record was to go, if Kafka did not take it there.
    """

    def __init__(
        self,
        primary: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        code: str | None = None,
        retriable: bool = False,
        topic: str | None = None,
    ) -> None:
        super().__init__(primary, detail=detail, hint=hint)
        self.code = code
        self.retriable = retriable
        self.topic = topic


class FencedError(StreamsError):
    """Kafka refused a commit: another instance, or a later run of this one, is the owner of the application now."""


def describe_callable(function: Callable[..., Any]) -> str:
    """Name a user's function and where it was written: `<lambda> at orders.py:14`.

    >>> def double(v): return 2 * v
    >>> describe_callable(double).startswith("double at ")
    True
    """
    target = inspect.unwrap(function)
    while hasattr(target, "func"):  # functools.partial
        target = target.func
    target = getattr(target, "__func__", target)
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    name = name.rsplit("<locals>.", 1)[-1]
    code = getattr(target, "__code__", None)
    if code is None:
        call = getattr(type(target), "__call__", None)  # noqa: B004 - the code object is wanted
        code = getattr(call, "__code__", None)
    if code is None:
        return name
    return f"{name} at {code.co_filename.rsplit('/', 1)[-1]}:{code.co_firstlineno}"
