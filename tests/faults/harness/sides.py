"""What is struck: the application on Millstream, or the same one on Kafka Streams."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from millstream.config import ProcessingMode

from . import application


@dataclass(frozen=True)
class Settings:
    """How a copy of the application is to run."""

    application: str
    bootstrap: str
    #: Of the names of topics.
    prefix: str
    checkpoint: str
    state: str
    #: Where functions find out that they are to raise.
    tokens: str
    master: str
    #: "rocksdb" or "memory"
    stores: str
    caching: bool
    #: Whether what failed is replaced in the running process; else the process ends and its supervisor starts it again.
    replace: bool
    max_batch_records: int
    mode: ProcessingMode
    #: How many lanes have each task in reserve.
    standbys: int


class Side(Protocol):
    """A way to run the application."""

    name: str
    #: With which codes it ends after SIGTERM.
    end_codes: tuple[int, ...]

    def waits(self, mode: ProcessingMode) -> bool:
        """Whether a second copy waits until the first is gone, instead of sharing the work."""

    def command(self, settings: Settings) -> list[str]:
        """What to start."""


class Millstream:
    """Ours."""

    name = "millstream"
    end_codes: tuple[int, ...] = (0,)

    def waits(self, mode: ProcessingMode) -> bool:
        return mode == "micro_batch"

    def command(self, settings: Settings) -> list[str]:
        return [sys.executable, application.__file__, json.dumps(asdict(settings))]


class KafkaStreams:
    """The peer: bench/peers/FaultsPeer.java.

    Args:
        java: the path of java.
        classpath: of its jars and classes.
    """

    name = "kafka-streams"
    end_codes: tuple[int, ...] = (0, 143)

    def __init__(self, java: str, classpath: str) -> None:
        self._java = java
        self._classpath = classpath

    def waits(self, mode: ProcessingMode) -> bool:
        return False

    def command(self, settings: Settings) -> list[str]:
        logging = "-Dorg.slf4j.simpleLogger."
        options = ["-Xmx1g", f"{logging}defaultLogLevel=warn", f"{logging}showDateTime=true"]
        Path(settings.state).mkdir(parents=True, exist_ok=True)
        return [self._java, *options, "-cp", self._classpath, "FaultsPeer", json.dumps(asdict(settings))]
