"""The options of suppress."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millstream.errors import ArgumentError
from millstream.suppressed import BufferConfig, Suppressed


def test_buffer_configurations() -> None:
    assert BufferConfig.unbounded() == BufferConfig(None, None, True)
    assert BufferConfig.max_records(5) == BufferConfig(5, None, False)
    assert BufferConfig.max_bytes(9).with_max_records(5) == BufferConfig(5, 9, False)
    assert BufferConfig.max_records(5).with_max_bytes(9).shut_down_when_full() == BufferConfig(5, 9, True)
    assert BufferConfig.unbounded().with_max_records(2).emit_early_when_full() == BufferConfig(2, None, False)
    with pytest.raises(ArgumentError, match="negative"):
        BufferConfig.max_records(-1)


def test_time_limit() -> None:
    config = BufferConfig.max_records(1)
    assert Suppressed.until_time_limit(timedelta(seconds=2), config, name="x") == Suppressed(2000, config, "x")
    with pytest.raises(ArgumentError, match="negative"):
        Suppressed.until_time_limit(timedelta(seconds=-1), config)


def test_final_results_cannot_be_emitted_early() -> None:
    assert Suppressed.until_window_closes(BufferConfig.unbounded()).wait_ms is None
    with pytest.raises(ArgumentError, match="cannot emit early") as caught:
        Suppressed.until_window_closes(BufferConfig.max_records(3))
    assert caught.value.hint is not None
