"""The iteration order of two Java collections.

The text of `describe()` depends on it: Kafka Streams walks nodes in the order of a `HashMap` and keeps neighbours in
`TreeSet`s whose sort key, the size of the sub-tree, still changes after insertion. Which elements are compared, and
with which sizes, then decides the order; so both are followed exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


def _spread_hash(text: str) -> int:
    code = 0
    for char in text:
        code = (31 * code + ord(char)) & 0xFFFFFFFF
    return code ^ (code >> 16)


def hash_order(names: Iterable[str]) -> list[str]:
    """The order in which a `HashSet` or `HashMap` that got these names, one after the other, gives them back.

    >>> hash_order(["in-0", "in-1"])
    ['in-1', 'in-0']
    """
    unique = list(dict.fromkeys(names))
    capacity = 16
    while len(unique) > capacity * 3 // 4:
        capacity *= 2
    # Growing splits buckets without reordering them, so inside one the order of insertion is left.
    return sorted(unique, key=lambda name: _spread_hash(name) & (capacity - 1))


class _Entry(Generic[T]):
    __slots__ = ("item", "left", "parent", "red", "right")

    def __init__(self, item: T, parent: _Entry[T] | None) -> None:
        self.item = item
        self.parent = parent
        self.left: _Entry[T] | None = None
        self.right: _Entry[T] | None = None
        self.red = parent is not None


class TreeSet(Generic[T]):
    """A red-black tree that compares at insertion only, as `java.util.TreeSet`.

    Args:
        compare: negative, zero or positive; zero means the element is there already.
    """

    def __init__(self, compare: Callable[[T, T], int]) -> None:
        self._compare = compare
        self._root: _Entry[T] | None = None

    def add(self, item: T) -> None:
        """Insert an element that is not there yet."""
        parent: _Entry[T] | None = None
        entry = self._root
        order = 0
        while entry is not None:
            parent = entry
            order = self._compare(item, entry.item)
            if order == 0:
                return
            entry = entry.left if order < 0 else entry.right
        added = _Entry(item, parent)
        if parent is None:
            self._root = added
        elif order < 0:
            parent.left = added
        else:
            parent.right = added
        self._rebalance(added)

    def __iter__(self) -> Iterator[T]:
        def walk(entry: _Entry[T] | None) -> Iterator[T]:
            if entry is not None:
                yield from walk(entry.left)
                yield entry.item
                yield from walk(entry.right)

        return walk(self._root)

    def _rebalance(self, entry: _Entry[T]) -> None:
        while (parent := entry.parent) is not None and parent.red:
            grandparent = parent.parent
            assert grandparent is not None  # noqa: S101 - a red entry is never the root
            on_left = parent is grandparent.left
            uncle = grandparent.right if on_left else grandparent.left
            if uncle is not None and uncle.red:
                parent.red = uncle.red = False
                grandparent.red = True
                entry = grandparent
                continue
            if entry is (parent.right if on_left else parent.left):
                self._rotate(parent, left=on_left)
                entry, parent = parent, entry
            parent.red = False
            grandparent.red = True
            self._rotate(grandparent, left=not on_left)
        if self._root is not None:
            self._root.red = False

    def _rotate(self, entry: _Entry[T], *, left: bool) -> None:
        """Put a child in its parent's place: the right child when rotating left, else the left one."""
        child = entry.right if left else entry.left
        assert child is not None  # noqa: S101 - there is no rotation without it
        inner = child.left if left else child.right
        if left:
            entry.right, child.left = inner, entry
        else:
            entry.left, child.right = inner, entry
        if inner is not None:
            inner.parent = entry
        child.parent = entry.parent
        if entry.parent is None:
            self._root = child
        elif entry.parent.left is entry:
            entry.parent.left = child
        else:
            entry.parent.right = child
        entry.parent = child
