"""Which exception of ours stands for one of Kafka Streams'.

| Kafka Streams | here |
|---|---|
| `TopologyException` | `TopologyError` |
| `StreamsException` | `StreamsError` and below (a user's function that raised: `ProcessingError`) |
| `IllegalArgumentException` | `ArgumentError`, a `ValueError` |
| `NullPointerException` | what a None leads to: `TypeError`, `AttributeError`, or a `ValueError` that refuses it |
| `IllegalStateException` | `RuntimeError` |
"""

from __future__ import annotations

from millstream.errors import StreamsError, TopologyError

_EQUIVALENTS: dict[str, tuple[type[Exception], ...]] = {
    "org.apache.kafka.streams.errors.TopologyException": (TopologyError,),
    "org.apache.kafka.streams.errors.StreamsException": (StreamsError,),
    "java.lang.IllegalArgumentException": (ValueError,),
    "java.lang.NullPointerException": (TypeError, AttributeError, ValueError),
    "java.lang.IllegalStateException": (RuntimeError,),
}


def stands_for(error: BaseException, java_class: str) -> bool:
    """Whether our exception is the equivalent of one in Java; one that the table lacks has none."""
    return isinstance(error, _EQUIVALENTS.get(java_class, ()))


def root_cause(error: BaseException) -> BaseException:
    """The exception a chain of exceptions began with."""
    while (cause := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        error = cause
    return error


def one_line(error: BaseException) -> str:
    """An exception, and the root of it, in one line."""
    root = root_cause(error)
    shown = f"{type(error).__name__}: {_first_line(error)}"
    return shown if root is error else f"{shown} (caused by {type(root).__name__}: {_first_line(root)})"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]
