"""What an agent's function asks of its operator.

`async for` over a stream suspends the coroutine with one of these, and the operator resumes it with what was asked for.
Anything else that a coroutine suspends with belongs to an event loop: it waits for something outside.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class Request:
    """A wish for the next record, in some shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def __repr__(self) -> str:
        return f"<request for {self.shape}>"


VALUE = Request("a value")
ITEM = Request("a key and a value")
EVENT = Request("an event")


class Take(Request):
    """A wish for several records at once.

    Args:
        most: how many at most.
        within_ms: how long to wait for them after the first has come.
        make: what each of them looks like, made of an event.
        accept: whether to take an event.
    """

    __slots__ = ("accept", "make", "most", "within_ms")

    def __init__(self, most: int, within_ms: int, make: Callable[[Any], Any], accept: Callable[[Any], bool]) -> None:
        super().__init__(f"up to {most} records")
        self.most = most
        self.within_ms = within_ms
        self.make = make
        self.accept = accept


@types.coroutine
def _ask(request: Request) -> Generator[Request, Any, Any]:
    return (yield request)


def ask(request: Request) -> Coroutine[Any, Any, Any]:
    """Wait for what is asked for."""
    return _ask(request)
