"""Spark Connect, which applications cannot use: it is found before Spark says things in its own way."""

from __future__ import annotations

import os
from collections.abc import Mapping

from millstream.errors import StreamsError

_HINT = (
    "give the address of the cluster itself, such as master='spark://host:7077', 'k8s://https://host:6443' or 'yarn', "
    "or start the script with spark-submit; without a cluster leave master out"
)
#: What has PySpark make sessions of Spark Connect.
_VARIABLES = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")


def refuse_connect(session: object | None = None, settings: Mapping[str, str] | None = None) -> None:
    """See that sessions are Spark's own, with the driver in this process.

    Args:
        session: one that is there.
        settings: of Spark, for one to be made.

    Raises:
        StreamsError: they are of Spark Connect.
    """
    if session is not None and ".connect." in type(session).__module__:
        raise _unsupported(f"the session is a {type(session).__module__}.{type(session).__qualname__}")
    settings = settings or {}
    for name in _VARIABLES:
        if value := os.environ.get(name):
            raise _unsupported(f"{name} is {value} in the environment", f"unset {name}; ")
    mode = settings.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))
    if "spark.remote" in settings or mode.lower() == "connect":
        asked = "spark.remote" if "spark.remote" in settings else "spark.api.mode"
        raise _unsupported(f"{asked} asks for it", f"leave {asked} out; ")


def _unsupported(detail: str, first: str = "") -> StreamsError:
    return StreamsError(
        "Millstream cannot use Spark Connect",
        detail=f"{detail}; lanes, sources and batches need the driver in this process",
        hint=first + _HINT,
    )
