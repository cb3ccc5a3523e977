"""The directory of a run: sockets of its lanes, their logs, and what they hand over. For this user only."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from millstream.errors import StreamsError
from millstream.spark.calls.processes import alive, birth

#: The name of the file that says whose run it is.
DRIVER = "driver"
#: The longest path of a socket, and room for a lane's number and process in its name.
_LONGEST_PATH = 107
_ROOM = len("/lane-9999.4194304")


def directory(run_id: str) -> Path:
    """Where a run's lanes on this machine are to be found; made if need be.

    Raises:
        StreamsError: somebody else could have put something there.
    """
    base = Path(tempfile.gettempdir()) / f"millstream-{os.getuid()}"
    path = base / run_id
    if len(os.fsencode(path)) + _ROOM > _LONGEST_PATH:
        raise StreamsError(
            "the path of the temporary directory is too long for sockets",
            detail=f"{path}, and a socket's name may have {_LONGEST_PATH} bytes in all",
            hint="set TMPDIR to a directory with a shorter path",
        )
    for each in (base, path):
        with contextlib.suppress(FileExistsError):
            each.mkdir(mode=0o700)
        _check(each)
    return path


def drivers_directory(run_id: str) -> Path:
    """The same for the driver: it is known as the driver's, and those of drivers that are gone are removed."""
    path = directory(run_id)
    (path / DRIVER).write_text(f"{os.getpid()} {birth(os.getpid())}")
    for other in path.parent.iterdir():
        if other != path:
            remove_if_left_over(other)
    return path


def remove_if_left_over(path: Path) -> None:
    """Remove the directory of a driver that is gone: one that was killed cannot do so itself."""
    if _is_left_over(path):
        shutil.rmtree(path, ignore_errors=True)


def _is_left_over(path: Path) -> bool:
    try:
        process, born = (path / DRIVER).read_text().split()
    except (OSError, ValueError):  # of a run with its driver elsewhere, or just being made
        return False
    return not alive(int(process)) or birth(int(process)) != born


def _check(path: Path) -> None:
    found = path.lstat()
    wrong = None
    if stat.S_ISLNK(found.st_mode):
        wrong = "it is a link"
    elif not stat.S_ISDIR(found.st_mode):
        wrong = "it is not a directory"
    elif found.st_uid != os.getuid():
        wrong = f"it belongs to another user (uid {found.st_uid})"
    elif found.st_mode & 0o022:
        wrong = f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    if wrong is not None:
        raise StreamsError(
            "the directory for the lanes' sockets cannot be trusted",
            detail=f"{path}: {wrong}",
            hint="look who made it and remove it, or set TMPDIR to a directory of your own",
        )
    if found.st_mode & 0o077:  # only read until now: nobody else can have changed anything in it
        path.chmod(0o700)
