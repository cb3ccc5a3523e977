"""A binary heap that treats equal priorities exactly as `java.util.PriorityQueue` does.

Which of several queues with equal timestamps goes first is visible in results, and `heapq` decides it differently.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class PriorityQueue(Generic[T]):
    """Items in order of an integer priority, smallest first.

    >>> queue = PriorityQueue[str]()
    >>> for priority, item in ((2, "c"), (1, "a"), (1, "b")):
    ...     queue.offer(priority, item)
    >>> [queue.poll() for _ in range(len(queue))]
    ['a', 'b', 'c']
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        #: The heap: the first entry is the next one. Always the same list, so that loops can keep it in a local.
        self.entries: list[tuple[int, T]] = []

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def first(self) -> int | None:
        """The smallest priority, None when empty."""
        return self.entries[0][0] if self.entries else None

    def offer(self, priority: int, item: T) -> None:
        """Add an item: it rises above its parents as long as they are strictly greater."""
        heap = self.entries
        entry = (priority, item)
        at = len(heap)
        heap.append(entry)
        while at:
            above = (at - 1) >> 1
            parent = heap[above]
            if priority >= parent[0]:
                break
            heap[at] = parent
            at = above
        heap[at] = entry

    def poll(self) -> T:
        """Take the first item: the last one takes its place and sinks, leftwards unless the right is strictly less."""
        heap = self.entries
        last = heap.pop()
        if not heap:
            return last[1]
        result = heap[0][1]
        size = len(heap)
        half = size >> 1
        priority = last[0]
        at = 0
        while at < half:
            below = 2 * at + 1
            child = heap[below]
            right = below + 1
            if right < size and child[0] > heap[right][0]:
                below = right
                child = heap[below]
            if priority <= child[0]:
                break
            heap[at] = child
            at = below
        heap[at] = last
        return result

    def clear(self) -> None:
        """Remove everything."""
        self.entries.clear()
