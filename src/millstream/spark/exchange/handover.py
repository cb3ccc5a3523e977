"""How a lane's parcels reach another lane: large ones by a file, if both are on one machine.

Spark's exchange then only carries the file's name, instead of copying every record into the JVM and out of it again. A
file stays until its batch is over: Spark may ask for the same wave once more.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from millstream.errors import StreamsError

#: Smaller ones are not worth a file.
_LEAST_BYTES = 20_000
#: No parcel begins like this.
_BY_FILE = b"@"
_SUFFIX = ".parcel"


def is_by_file(sent: bytes) -> bool:
    """Whether what was sent only names the file of a parcel."""
    return sent.startswith(_BY_FILE)


class Handover:
    """One lane's way to hand over and to take.

    Args:
        directory: where the files are, for all lanes of the run; None if lanes are on several machines.
        lane: the lane's number.
    """

    def __init__(self, directory: Path | None, lane: int) -> None:
        self._directory = directory
        self._lane = lane

    def give(self, batch: int, from_wave: int, to_lane: int, to_wave: int, parcel: bytes) -> bytes:
        """What to send for a parcel."""
        if self._directory is None or len(parcel) < _LEAST_BYTES:
            return parcel
        path = self._directory / f"{self._lane}-{batch}-{from_wave}-{to_lane}-{to_wave}{_SUFFIX}"
        # A name of its own: a lane that was given up may still be writing the same file.
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(parcel)
        unfinished.replace(path)
        return _BY_FILE + os.fsencode(path)

    def take(self, sent: bytes) -> bytes:
        """The parcel that was sent."""
        if not is_by_file(sent):
            return sent
        path = Path(os.fsdecode(sent[len(_BY_FILE) :]))
        try:
            return path.read_bytes()
        except OSError as error:
            raise StreamsError(
                "records on their way to another task are gone",
                detail=f"{path}: {error}",
                hint="start the application again, nothing is lost; is something clearing the temporary directory?",
            ) from error

    def forget_before(self, batch: int) -> None:
        """Remove what this lane gave in earlier batches."""
        if self._directory is not None:
            for path in self._directory.glob(f"{self._lane}-*{_SUFFIX}"):
                if int(path.name.split("-")[1]) < batch:
                    with contextlib.suppress(FileNotFoundError):  # a lane that was given up may do the same
                        path.unlink()
