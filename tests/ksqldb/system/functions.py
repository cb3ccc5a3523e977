"""User functions of the servers in these tests."""

from __future__ import annotations

from millstream import udaf


@udaf("wary_sum")
class WarySum:
    """The sum of the values; a negative one ends the query."""

    def initialize(self) -> int:
        return 0

    def aggregate(self, state: int, value: int) -> int:
        if value < 0:
            raise ValueError("negative values are refused")
        return state + value

    def merge(self, one: int, other: int) -> int:
        return one + other
