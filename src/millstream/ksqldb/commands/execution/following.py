"""Follows the command topic: one thread that reads commands and has them executed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from millstream.errors import MillstreamError
from millstream.ksqldb.commands.execution.executor import Executor
from millstream.ksqldb.commands.log.backup import Backup
from millstream.ksqldb.commands.log.command import TERMINATE_ID, Command, UnreadableCommand, decode
from millstream.ksqldb.commands.log.topic import Batch, CommandReader, CommandTopic, TopicDamaged

_LOG = logging.getLogger("millstream.ksqldb")
_READ_SECONDS = 1.0
_CHECK_SECONDS = 10.0
_CORRUPTED = (
    "The server has detected corruption in the command topic due to modifications performed on it. DDL statements will "
    "not be processed any further. If a backup of the command topic is available, restore the command topic using the "
    "backup file. A server restart is required to restore full functionality."
)
_INCOMPATIBLE = (
    "The server has encountered an incompatible entry in its log and cannot process further DDL statements. This is "
    "most likely due to the service being rolled back to an earlier version."
)


class Following:
    """Reads the command topic to its end, then goes on as commands come.

    Args:
        topic: what is read.
        executor: what executes commands.
        backup: what keeps them; None if nothing does.
        terminate: is called, in this thread, when the service is to end for good.
    """

    def __init__(
        self, topic: CommandTopic, executor: Executor, backup: Backup | None, terminate: Callable[[Command], None]
    ) -> None:
        self._topic = topic
        self._executor = executor
        self._backup = backup
        self._terminate = terminate
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="ksqldb-commands", daemon=True)
        self._reader: CommandReader | None = None
        self._terminating: Command | None = None
        #: Why no further commands are executed; None as long as they are.
        self.degraded: str | None = None

    def start(self) -> None:
        """Replay what is in the topic, start the queries that are left, and follow it from there on."""
        refusal = None
        try:
            self._replay()
            if self._backup is not None:
                self._backup.check_complete()
        except TopicDamaged as error:
            refusal = self._degrade(_CORRUPTED, error)
        if self._terminating is not None:
            self._terminate(self._terminating)
            return
        self._executor.go_live(refusal)
        self._thread.start()

    def _replay(self) -> None:
        created = self._topic.ensure()
        end = 0 if created else self._topic.end()
        self._reader = self._topic.reader()
        executed = 0
        while self._executor.position < end and self.degraded is None and self._terminating is None:
            executed += self._take(self._reader.read(_READ_SECONDS))
        _LOG.info("the command topic %s has been replayed: %d commands", self._topic.name, executed)

    def _follow(self) -> None:
        checked = time.monotonic()
        while not self._closing.is_set() and self.degraded is None and self._reader is not None:
            try:
                batch = self._reader.read(_READ_SECONDS)
                self._take(batch)
                if time.monotonic() - checked > _CHECK_SECONDS and not batch.records:
                    checked = time.monotonic()
                    self._topic.check()
            except TopicDamaged as error:
                self.damaged(error)
            except MillstreamError as error:
                _LOG.warning("command topic %s: %s", self._topic.name, error)
                self._closing.wait(_READ_SECONDS)
            except Exception:
                _LOG.exception("command topic %s", self._topic.name)
                self._closing.wait(_READ_SECONDS)
            if self._terminating is not None and not self._closing.is_set():
                self._closing.set()
                self._terminate(self._terminating)

    def _take(self, batch: Batch) -> int:
        """Execute what was read; how many commands it was."""
        executed = 0
        for record in batch.records:
            if record.value is None:
                continue
            try:
                command = decode(record.key, record.value)
            except UnreadableCommand as error:
                error.detail = f"at offset {record.offset}: {error.detail}"
                self._degrade(_INCOMPATIBLE, error)
                return executed
            if self._backup is not None:
                self._backup.write(record)
            if command.id == TERMINATE_ID:
                self._terminating = command
                if self._backup is not None:
                    self._backup.retire()
                return executed
            self._executor.execute(command, record.offset)
            executed += 1
        self._executor.advance(batch.position)
        return executed

    def damaged(self, error: TopicDamaged) -> None:
        """Somebody else noticed that the topic is not what it was."""
        if self.degraded is None and not self._closing.is_set():
            self._degrade(_CORRUPTED, error)

    def _degrade(self, message: str, error: MillstreamError) -> str:
        parts = [error.primary, *([] if error.detail is None else [error.detail])]
        self.degraded = f"{message} ({': '.join(parts)})"
        _LOG.error("%s\n%s", self.degraded, error.hint or "")
        return self.degraded

    @property
    def is_alive(self) -> bool:
        """Whether commands that come are executed."""
        return self.degraded is None and self._thread.is_alive()

    def close(self) -> None:
        """Read no further."""
        self._closing.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()
        if self._reader is not None and not self._thread.is_alive():
            self._reader.close()
            self._reader = None
        if self._backup is not None:
            self._backup.close()
