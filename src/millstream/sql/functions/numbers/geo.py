"""Functions of places on the earth."""

from __future__ import annotations

import math

from millstream.sql.errors import FunctionError
from millstream.sql.functions.declare import Declarations

FUNCTIONS = Declarations("OTHER")

_RADIUS = {
    **dict.fromkeys(("mi", "mile", "miles"), 3959.0),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), 6371.0),
}

_POINTS = "DOUBLE lat1, DOUBLE lon1, DOUBLE lat2, DOUBLE lon2"


@FUNCTIONS.scalar("geo_distance", f"({_POINTS}, STRING units) -> DOUBLE", pass_null=True)
def geo_distance(
    lat1: float | None, lon1: float | None, lat2: float | None, lon2: float | None, units: str | None
) -> float | None:
    """The length of the shortest way between two points, in 'KM' or 'MI'."""
    if lat1 is None or lon1 is None or lat2 is None or lon2 is None:
        return None
    if max(abs(lat1), abs(lat2)) > 90:
        raise FunctionError(
            "valid latitude values for GeoDistance function are in the range of -90 to 90 decimal degrees"
        )
    if max(abs(lon1), abs(lon2)) > 180:
        raise FunctionError(
            "valid longitude values for GeoDistance function are in the range of -180 to +180 decimal degrees"
        )
    radius = _radius(units)
    share = _haversine(math.radians(lat2 - lat1)) + _haversine(math.radians(lon2 - lon1)) * math.cos(
        math.radians(lat1)
    ) * math.cos(math.radians(lat2))
    return 2 * math.asin(math.sqrt(share)) * radius


@FUNCTIONS.scalar("geo_distance", f"({_POINTS}) -> DOUBLE")
def geo_distance_in_kilometres(lat1: float, lon1: float, lat2: float, lon2: float) -> float | None:
    """The length of the shortest way between two points, in kilometres."""
    return geo_distance(lat1, lon1, lat2, lon2, None)


def _radius(units: str | None) -> float:
    unit = (units or "").strip().lower()
    radius = _RADIUS.get(unit or "km")
    if radius is None:
        *names, last = _RADIUS
        raise FunctionError(
            f"GeoDistance function units parameter must be one of {', '.join(names)} or {last}. "
            "Values are case-insensitive."
        )
    return radius


def _haversine(angle: float) -> float:
    return math.sin(angle / 2) ** 2
