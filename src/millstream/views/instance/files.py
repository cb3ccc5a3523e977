"""The files of a view: where copies are, and whose they are.

    <state_dir>/<application_id>/views/.lock       held by the process that uses the directory
                                      /.instance   the name of the instance
                                      /<task>/     see `millstream.store_files`

Tasks on Spark keep their stores beside `views`, under the same names: the state of processing is not a copy of it.
"""

from __future__ import annotations

import fcntl
import os
import socket
import uuid
from pathlib import Path

from millstream.config import StreamsConfig
from millstream.directories import state_directory
from millstream.errors import StateStoreError
from millstream.store_files import write_whole


def views_directory(config: StreamsConfig) -> Path:
    """Where an application's views are."""
    base = Path(config.state_dir) if config.state_dir is not None else state_directory() / "applications"
    return base / config.application_id / "views"


def kept_instance_id(config: StreamsConfig) -> str:
    """The name of the instance that uses the state directory: made once, and kept there."""
    file = views_directory(config) / ".instance"
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        name = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, name.encode())
        return file.read_text().strip()


class DirectoryLock:
    """Keeps a second process from using the same directory; given back when the process ends, however that is."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / ".lock"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, 100).decode(errors="replace").strip() or "unknown"
            os.close(self._file)
            raise StateStoreError(
                "the state directory of the views is in use",
                detail=f"{directory}, by process {holder}",
                hint="give each instance of the application on this machine a state_dir of its own",
            ) from error
        os.truncate(self._file, 0)
        os.write(self._file, str(os.getpid()).encode())

    def release(self) -> None:
        """Give the directory back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
