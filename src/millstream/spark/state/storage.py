"""Where a checkpoint is: a directory, or a URL of a store that both Spark and lanes reach.

Spark writes its log by Hadoop's clients, lanes write state by Arrow's. Both get the same place and the same settings;
`millstream.spark.state.s3` says how S3's are told.

A file is there as a whole or not at all. Where files can be moved, it is written under another name first. Object
stores have no such thing, and need none: an object comes into being when all of it was sent.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeVar

from pyarrow import fs

from millstream.config import Setting
from millstream.errors import ArgumentError
from millstream.spark.state import s3

T = TypeVar("T")

#: Up to here, what is sent to an object store is put together in memory, beyond in a temporary file.
_SPOOLED_BYTES = 8 * 1024 * 1024
_SCHEMES = ("file", "hdfs", "viewfs", "s3", "s3a")


def filesystem(location: str, spark: Mapping[str, Setting] | None = None) -> tuple[fs.FileSystem, str]:
    """The file system of a checkpoint location, and the path in it.

    Args:
        location: a path or a URL.
        spark: properties of Spark, which have the settings of stores.
    """
    if s3.is_s3(location):
        return s3.filesystem(location, spark or {})
    if location.startswith("file:"):
        path = location.removeprefix("file:")  # Hadoop writes file:/path, others file:///path
        return fs.LocalFileSystem(), path[2:] if path.startswith("//") else path
    scheme, separator, _ = location.partition("://")
    if not separator:
        return fs.LocalFileSystem(), location
    if scheme not in _SCHEMES:
        raise ArgumentError(
            f"checkpoint_location: {location!r} is on a store that is not known here",
            hint="give a path, or a URL that begins with file://, hdfs://, s3a:// or s3://",
        )
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(location)
    return found


def spark_url(location: str) -> str:
    """A checkpoint location as Hadoop's clients spell it."""
    return s3.hadoop_url(location) if s3.is_s3(location) else location


def moves_files(file_system: fs.FileSystem) -> bool:
    """Whether a file can get another name in one step."""
    if isinstance(file_system, fs.SubTreeFileSystem):
        return moves_files(file_system.base_fs)
    return not isinstance(file_system, fs.S3FileSystem)


def make_directory(file_system: fs.FileSystem, path: str) -> None:
    """Have a directory; object stores have none."""
    if moves_files(file_system):
        file_system.create_dir(path, recursive=True)


def sync_above(file_system: fs.FileSystem, path: str, count: int) -> None:
    """Have a new directory outlive the machine, where that takes something: so many of those above it are synced."""
    if isinstance(file_system, fs.LocalFileSystem):
        for _ in range(count):
            path = posixpath.dirname(path)
            if path:
                sync(path)


def write_whole(file_system: fs.FileSystem, path: str, write: Callable[[IO[bytes] | Any], T]) -> T:
    """Write a file so that it is there as a whole or not at all; on a local disk it outlives the machine.

    Args:
        file_system: where.
        path: of the file; its directory must be there, unless the store has none.
        write: writes the content to a stream, and answers something.

    Raises:
        OSError: it cannot be written. What was there before is still there.
    """
    if not moves_files(file_system):
        return _send(file_system, path, write)
    # A name of its own: another one may still be writing the same file.
    temporary = f"{path}.{uuid.uuid4().hex}.tmp"
    is_local = isinstance(file_system, fs.LocalFileSystem)
    try:
        with file_system.open_output_stream(temporary) as stream:
            answer = write(stream)
        if is_local:
            sync(temporary)
        file_system.move(temporary, path)
        if is_local:
            sync(posixpath.dirname(path) or ".")
    except BaseException:
        with contextlib.suppress(OSError):
            file_system.delete_file(temporary)
        raise
    return answer


def _send(file_system: fs.FileSystem, path: str, write: Callable[[IO[bytes] | Any], T]) -> T:
    """Write an object. First elsewhere: Arrow's stream makes an object of what it has, also if there was an error."""
    with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as content:
        answer = write(content)
        content.seek(0)
        with file_system.open_output_stream(path) as stream:
            shutil.copyfileobj(content, stream, 1024 * 1024)
    return answer


def sync(path: str) -> None:
    """Have a local file or directory outlive the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
