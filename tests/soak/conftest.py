"""Applications as in tests/spark."""

from __future__ import annotations

from tests.spark.conftest import batches, counting, either, no_lane_is_left

__all__ = ["batches", "counting", "either", "no_lane_is_left"]  # fixtures
