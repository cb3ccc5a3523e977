"""What the driver and its reader tell each other while an application runs.

Spark has the reader, which decides what a batch takes, in a process of its own. Both are on one machine; what they say
is in small files in the directory of the run, and this class knows all of them.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec


@dataclass(frozen=True)
class LastBatch:
    """What the driver knows of the last batch.

    Args:
        seconds: how long lanes worked on it.
        record_bytes: the usual size of a record.
    """

    seconds: float
    record_bytes: float


class Control:
    """The small files of a run.

    Args:
        directory: the run's own.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    # --- the driver says

    def pause(self) -> None:
        """Take no new batch."""
        self._file("rests").unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):  # closed
            self._file("pause").touch()

    def resume(self) -> None:
        """Take batches again."""
        self._file("pause").unlink(missing_ok=True)

    def tell_last(self, batch: LastBatch) -> None:
        """A batch is done."""
        self._write("last", json.dumps(asdict(batch)))

    def tell_due(self, time_ms: int | None) -> None:
        """When the next wall-clock punctuation is due, if one is."""
        if time_ms is None:
            self._file("due").unlink(missing_ok=True)
        else:
            self._write("due", str(time_ms))

    @property
    def membership_path(self) -> Path:
        """Where the membership of the application's owner is kept up to date."""
        return self._file("membership")

    # --- the reader hears

    @property
    def is_paused(self) -> bool:
        """Whether no new batch is to be taken."""
        return self._file("pause").exists()

    @property
    def last(self) -> LastBatch | None:
        """The last batch; None before the first is done."""
        found = self._read("last")
        return None if found is None else LastBatch(**json.loads(found))

    @property
    def due(self) -> int | None:
        """When the next wall-clock punctuation is due."""
        found = self._read("due")
        return None if found is None else int(found)

    @property
    def membership(self) -> bytes:
        """The membership of the application's owner."""
        return self.membership_path.read_bytes()

    # --- the reader says

    def tell_rests(self) -> None:
        """It is paused, and the last batch is done."""
        with contextlib.suppress(FileNotFoundError):  # closed
            self._file("rests").touch()

    def tell_other_topics(self) -> None:
        """The topics on the broker are not those of the plan any more; it takes no more batches."""
        self._file("topics").touch()

    def tell_lag(self, records: int) -> None:
        """How many records wait in the input topics."""
        self._write("lag", str(records))

    def tell_requests(self, requests: list[dict[str, Any]]) -> None:
        """What the lanes have to do in the first wave of the batch that is planned now, by lane."""
        self._write("requests", msgspec.msgpack.encode(requests))

    # --- the driver hears

    def take_requests(self) -> list[dict[str, Any]] | None:
        """What the lanes have to do in the batch that was planned; None if none was since the last one was taken."""
        path = self._file("requests")
        try:
            found: list[dict[str, Any]] = msgspec.msgpack.decode(path.read_bytes())
        except FileNotFoundError:
            return None
        path.unlink()
        return found

    @property
    def rests(self) -> bool:
        """Whether a paused application has finished its last batch."""
        return self._file("rests").exists()

    @property
    def has_other_topics(self) -> bool:
        """Whether the topics on the broker are not those of the plan any more."""
        return self._file("topics").exists()

    @property
    def lag(self) -> int:
        """How many records wait in the input topics, as last looked."""
        return int(self._read("lag") or 0)

    # --- files

    def _file(self, name: str) -> Path:
        return self.directory / f"control.{name}"

    def _write(self, name: str, content: str | bytes) -> None:
        """As a whole: the other side may look at any time."""
        unfinished = self._file(f"{name}.new")
        with contextlib.suppress(FileNotFoundError):  # closed
            unfinished.write_bytes(content.encode() if isinstance(content, str) else content)
            unfinished.replace(self._file(name))

    def _read(self, name: str) -> str | None:
        try:
            return self._file(name).read_text()
        except FileNotFoundError:
            return None
