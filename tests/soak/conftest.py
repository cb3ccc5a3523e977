"""Applications as in tests/spark."""

from __future__ import annotations

from tests.spark.conftest import apps, counting, no_lane_is_left

__all__ = ["apps", "counting", "no_lane_is_left"]  # fixtures
