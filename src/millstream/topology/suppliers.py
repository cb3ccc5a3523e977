"""Suppliers of user processors: what they must keep to, and the stores they bring along."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from millstream.errors import ArgumentError, describe_callable
from millstream.topology.nodes import AnyStoreBuilder


def check_supplier(supplier: Callable[[], Any]) -> list[AnyStoreBuilder]:
    """Make sure a supplier gives a new processor every time; answer the stores it brings.

    Each task has its own processor, so one that is shared would mix the tasks' state.

    A supplier brings stores with an attribute or a method `stores`. When it is a class (or a `functools.partial` of
    one) `stores` is looked up on an instance, so that it may be a plain method.
    """
    if not callable(supplier):
        raise ArgumentError(
            "supplier is not callable",
            detail=f"got {supplier!r}, of type {type(supplier).__name__}",
            hint="give the processor class or a function that makes one",
        )
    first, second = supplier(), supplier()
    if first is None:
        raise ArgumentError("supplier returned None", detail=f"supplier is {describe_callable(supplier)}")
    if first is second:
        raise ArgumentError(
            f"{describe_callable(supplier)} generates single reference",
            detail=f"it returned the same {type(first).__name__} twice",
            hint="a supplier must return a new processor each time it is called",
        )

    target: Any = supplier
    while isinstance(target, partial):
        target = target.func
    if not hasattr(target, "stores"):
        return []
    stores = (first if inspect.isclass(target) else target).stores
    builders: Iterable[AnyStoreBuilder] | None = stores() if callable(stores) else stores
    return list(builders or ())
