"""Reading two sorted sequences as one, where the upper hides the lower."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_END: Any = object()


def overlay(
    lower: Iterable[tuple[Any, A]], upper: Iterable[tuple[Any, B]], reverse: bool = False
) -> Iterator[tuple[A | None, B | None]]:
    """Merge by position (the first of each pair): yields (lower, None), or (None, upper) where both have one.

    >>> list(overlay([(1, "a"), (3, "c")], [(2, "B"), (3, "C")]))
    [('a', None), (None, 'B'), (None, 'C')]
    """
    lower_items, upper_items = iter(lower), iter(upper)
    below = next(lower_items, _END)
    above = next(upper_items, _END)
    while below is not _END and above is not _END:
        if below[0] == above[0]:
            below = next(lower_items, _END)
        elif (below[0] < above[0]) is not reverse:
            yield below[1], None
            below = next(lower_items, _END)
        else:
            yield None, above[1]
            above = next(upper_items, _END)
    while below is not _END:
        yield below[1], None
        below = next(lower_items, _END)
    while above is not _END:
        yield None, above[1]
        above = next(upper_items, _END)
