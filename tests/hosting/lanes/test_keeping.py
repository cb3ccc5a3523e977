"""Whether a lane has what it should have."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from millstream import StreamsConfig
from millstream.hosting.lanes.keeping import Keeping, KnownQuery
from millstream.hosting.lanes.settings import LaneSettings


def test_a_lane_that_the_group_has_shut_out_is_not_settled_until_it_is_back() -> None:
    """Else an application says that it runs while nobody does anything."""
    query: Any = SimpleNamespace(tasks=[])
    keeping = Keeping(LaneSettings(StreamsConfig(), "service", "lane"), inputs=SimpleNamespace(), tell=pytest.fail)  # type: ignore[arg-type]
    known = KnownQuery(query)
    try:
        assert not keeping.is_settled(known)
        keeping.gain({1, 2})
        keeping.notes |= {1: {}, 2: {}}
        assert keeping.is_settled(known)
        keeping.lose({1})
        assert keeping.is_settled(known)
        keeping.lose({2}, until_told=True)
        assert not keeping.is_settled(known)
        keeping.gain(set())  # others have all slots
        assert keeping.is_settled(known)
    finally:
        keeping.close()
