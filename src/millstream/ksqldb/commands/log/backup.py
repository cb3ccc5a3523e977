"""The backup of the command topic: a file with a line for each command, as ksqlDB writes it."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.ksqldb.commands.log.command import UnreadableCommand, decode
from millstream.ksqldb.commands.log.topic import CommandRecord, CommandTopic, TopicDamaged

_LOG = logging.getLogger("millstream.ksqldb")
_DIFFERS = "the command topic {topic} and its backup {path} tell different stories"
_WAYS_OUT = "restore the topic from the backup, or move the backup elsewhere if the topic is right"


class BackupError(MillstreamError):
    """A backup that cannot be used."""


class Backup:
    """Writes each command to a file, once. What the file has already is compared with the topic.

    Args:
        location: a directory; it is made, for its owner alone, if it is not there.
        topic: whose commands they are.
        now: the time, in milliseconds, which names a new file.
    """

    def __init__(self, location: Path, topic: str, now: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        self._topic = topic
        try:
            location.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path = _newest(location, topic) or location / f"backup_{topic}_{now()}"
            self._known = read_backup(self.path) if self.path.exists() else []
            self._compared = 0
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(descriptor, "ab")
            self._cut_torn_line()
        except OSError as error:
            raise BackupError(
                f"the backup of the command topic cannot be written at {location}",
                detail=str(error),
                hint="'ksql.metastore.backup.location' must be a directory that the server may write to",
            ) from error
        _LOG.info("commands are backed up to %s", self.path)

    def _cut_torn_line(self) -> None:
        """Of a server that was killed while it wrote."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)

    def write(self, record: CommandRecord) -> None:
        """Keep a record of the topic.

        Raises:
            TopicDamaged: the backup has another one at this place.
        """
        key, value = record.key or b"", record.value or b""
        if self._compared < len(self._known):
            if self._known[self._compared] != (key, value):
                raise self._differs(f"at offset {record.offset}")
            self._compared += 1
            return
        try:
            self._file.write(key + b":" + value + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            _LOG.error("the backup %s is not complete: %s", self.path, error)

    def check_complete(self) -> None:
        """See that the topic has everything that the backup has.

        Raises:
            TopicDamaged: it does not.
        """
        if self._compared < len(self._known):
            raise self._differs(f"the topic ends after {self._compared} commands, the backup has {len(self._known)}")

    def _differs(self, detail: str) -> TopicDamaged:
        return TopicDamaged(_DIFFERS.format(topic=self._topic, path=self.path), detail=detail, hint=_WAYS_OUT)

    def retire(self) -> None:
        """The service has ended for good: another of the same name begins with another backup."""
        try:
            self.path.rename(self.path.with_name(f"{self.path.name}.terminated"))
        except OSError as error:
            _LOG.error("the backup %s is not put aside: %s", self.path, error)

    def close(self) -> None:
        """That was all."""
        self._file.close()


def read_backup(path: Path) -> list[tuple[bytes, bytes]]:
    """The keys and values of a backup. A last line without an end was never finished, and does not count.

    Raises:
        BackupError: a line is no command.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BackupError(f"the backup {path} cannot be read", detail=str(error)) from error
    return [_pair(line, f"{path}:{number}") for number, line in enumerate(content.split(b"\n")[:-1], 1)]


def _pair(line: bytes, place: str) -> tuple[bytes, bytes]:
    try:
        text = line.decode()
        _, end = json.JSONDecoder().raw_decode(text)
        if text[end] != ":":
            raise ValueError("no colon after the key")
        return text[:end].encode(), text[end + 1 :].encode()
    except (ValueError, IndexError) as error:
        raise BackupError(f"{place} is no line of a backup", detail=str(error)) from error


def _newest(location: Path, topic: str) -> Path | None:
    prefix = f"backup_{topic}_"
    found = [path for path in location.glob(f"{prefix}*") if path.name.removeprefix(prefix).isdigit()]
    return max(found, key=lambda path: int(path.name.removeprefix(prefix)), default=None)


def commands_of(path: Path) -> list[tuple[bytes, bytes]]:
    """The keys and values of a backup, all of which are commands.

    Raises:
        BackupError: one is not.
    """
    commands = read_backup(path)
    for number, (key, value) in enumerate(commands, 1):
        try:
            decode(key, value)
        except UnreadableCommand as error:
            raise BackupError(f"{path}:{number} is {error.primary}", detail=error.detail, hint=error.hint) from error
    return commands


def restore(topic: CommandTopic, path: Path) -> int:
    """Make the command topic anew from a backup. No server of the service may run.

    Args:
        topic: is deleted if it is there.
        path: the backup.

    Returns:
        How many commands it has.

    Raises:
        BackupError: the backup has something that is no command; the topic is as before.
        MillstreamError: Kafka refuses.
    """
    commands = commands_of(path)
    topic.delete()
    topic.ensure()
    writer = topic.writer()
    try:
        writer.begin()
        for key, value in commands:
            writer.append(key, value)
        writer.commit()
    finally:
        writer.close()
    return len(commands)
