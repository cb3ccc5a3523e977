"""Applications on Spark, as the tests of Spark have them."""

from __future__ import annotations

from tests.spark.conftest import apps, no_lane_is_left

__all__ = ["apps", "no_lane_is_left"]
