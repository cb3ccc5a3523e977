"""Apache Kafka's jars, in the user's cache directory."""

from __future__ import annotations

from pathlib import Path

from millstream.directories import cache_directory
from millstream.jvm.maven import Artifact, fetch_jars

KAFKA_VERSION = "4.3.1"
#: Kafka comes with no binding for slf4j, and without one it logs nothing, not even why it cannot start.
LOGGING = Artifact("org.slf4j", "slf4j-simple", "1.7.36")

_KAFKA = Artifact("org.apache.kafka", "kafka_2.13", KAFKA_VERSION)


def kafka_jars(cache: Path | None = None) -> list[Path]:
    """The jars of Apache Kafka, fetched if they are not there yet.

    Args:
        cache: the directory to keep them in; the user's cache directory unless given.
    """
    home = (cache or cache_directory()) / f"kafka-{KAFKA_VERSION}"
    return fetch_jars(f"Apache Kafka {KAFKA_VERSION}", [_KAFKA, LOGGING], home)
