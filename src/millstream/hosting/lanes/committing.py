"""How a lane makes final what its tasks did."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from confluent_kafka import TopicPartition

from millstream.errors import FencedError, ProductionError, StreamsError
from millstream.hosting.lanes.hosted_task import HostedTask
from millstream.hosting.lanes.keeping import Keeping, KnownQuery
from millstream.hosting.lanes.membership import Membership
from millstream.hosting.lanes.messages import Event, Stopped
from millstream.hosting.lanes.query import HostedQuery, HostedTaskId
from millstream.hosting.lanes.reading.inputs import Inputs
from millstream.hosting.lanes.settings import LaneSettings
from millstream.hosting.lanes.writing.outputs import Outputs
from millstream.hosting.lanes.writing.plain_outputs import PlainOutputs
from millstream.hosting.producing.refusals import Refusal, told
from millstream.hosting.producing.sure_writing import SureWriting
from millstream.kafka.admin import Partition
from millstream.task.errors.handling import asks_about_refused
from millstream.task.records import OutputRecord

log = logging.getLogger("millstream.lanes")

#: While records come without end, what they gave is committed so often: the time that takes should be a small part.
_COMMIT_SECONDS = 0.1
_LONGEST_SECONDS = 1.0
#: As long as more waits than is taken at once, nobody waits for a single result: rather more of them together.
_BEHIND_SECONDS = 0.5
_COMMIT_PART = 8
#: After many records it is waited for so long whether more come; after few, what they gave is committed at once.
QUIET_SECONDS = 0.02
_MANY = 50
#: More than so many outputs are committed at once.
_MOST_HELD = 100_000
#: How long Kafka may refuse the commits of a lane while its group changes.
_FENCED_SECONDS = 20.0
_REJOIN_SECONDS = 0.1


@dataclass(frozen=True, eq=False)
class _Finished:
    """What a task has to say at a commit."""

    known: KnownQuery
    task: HostedTask
    records: list[OutputRecord]
    note: bytes

    def writes(self, topic: str) -> bool:
        """Whether something of it goes to a topic."""
        return any(record[0] == topic for record in self.records)

    @property
    def is_there(self) -> bool:
        """Whether the task is still this lane's, and has not failed."""
        return self.known.tasks.get(self.task.id) is self.task


class Committing:
    """One transaction after the other, each with all that tasks have to say.

    Args:
        settings: which lane it is.
        keeping: the tasks.
        outputs: where they write.
        membership: the lane among the others.
        tell: hears of queries that are stopped.
    """

    def __init__(
        self,
        settings: LaneSettings,
        keeping: Keeping,
        outputs: Outputs | PlainOutputs,
        membership: Membership,
        tell: Callable[[Event], None],
    ) -> None:
        self._config = settings.config
        self._topic = settings.topic
        #: The group tells how far tasks are in their inputs, for people to look at.
        self._commits_inputs = settings.is_application
        self._keeping = keeping
        self._outputs = outputs
        self._membership = membership
        self._tell = tell
        #: Tasks of queries that ended for good: their notes are to go.
        self._forgotten: dict[str, list[HostedTaskId]] = {}
        self._dirty_since: float | None = None
        self._is_rejoining = False
        self._is_leaving = False
        self._asks = asks_about_refused(settings.config)
        #: How many records have come since the last commit, and how long that took.
        self._came = 0
        self._took = 0.0
        #: Before then nothing that is known of is to be committed.
        self._due_at = 0.0
        #: Of inputs of which tasks have everything, the position, and the end behind it that the group was told.
        self._reached: WeakKeyDictionary[HostedTask, dict[Partition, tuple[int, int]]] = WeakKeyDictionary()
        #: How often something was committed.
        self.commits = 0
        #: See `Figures.times`.
        self.times = (0.0, 0.0, 0.0)

    @property
    def is_needed(self) -> bool:
        """Whether there is something to commit."""
        return self._dirty_since is not None

    def wanted(self) -> None:
        """There is something to commit."""
        if self._dirty_since is None:
            self._dirty_since = time.monotonic()

    def forget(self, query: HostedQuery) -> None:
        """Remove what is noted of a query; when that is done, it is told as stopped."""
        self._forgotten[query.id] = query.tasks
        self.commit()

    def notes_were_read(self) -> None:
        """Some of them may be to be forgotten."""
        if self._forgotten:
            self.wanted()

    @property
    def patience(self) -> float:
        """How long to wait for more records before what there is is committed."""
        quiet = QUIET_SECONDS if self._came >= _MANY else 0.0
        return max(quiet, self._due_at - time.monotonic())

    def commit_if_due(self, came: int, *, is_behind: bool) -> bool:
        """Commit, unless it is better to wait a little; whether it was done.

        Args:
            came: how many records have come just now.
            is_behind: there are more.
        """
        if self._dirty_since is None:
            return False
        now = time.monotonic()
        self._came += came
        if came and not self.times[0]:
            self.times = (time.time(), 0.0, 0.0)
        if not came and now < self._due_at:
            return False
        if came:
            since = now - self._dirty_since
            # The first result shows that it works: somebody does wait for that one.
            least = _BEHIND_SECONDS if is_behind and self.commits else _COMMIT_SECONDS
            longest = min(max(least, _COMMIT_PART * self._took), _LONGEST_SECONDS)
            if since < longest and sum(task.held for _, task in self._keeping.tasks()) <= _MOST_HELD:
                return False
        self.commit(only_due=True)
        self._took = time.monotonic() - now
        return True

    def tell_reached(self, known: KnownQuery, inputs: Inputs) -> None:
        """Have the group tell of tasks with nothing to do that they are at the end of their inputs.

        Behind the last record may be the end of a transaction: who looks at the group would see a lag for ever.
        """
        if not self._commits_inputs:
            return
        offsets: list[TopicPartition] = []
        for task in known.tasks.values():
            if task.is_dirty or task.has_records:
                continue
            reached = self._reached.setdefault(task, {})
            for at, position in task.positions.items():
                end = inputs.reached(task, at)
                if end is not None and end > position and reached.get(at) != (position, end):
                    reached[at] = position, end
                    offsets.append(TopicPartition(*at, end))
        if offsets:
            self._membership.commit(offsets)

    def _positions(self, task: HostedTask) -> list[TopicPartition]:
        """What the group is told of a task."""
        reached = self._reached.get(task, {})
        found = []
        for at, position in task.positions.items():
            before, end = reached.get(at, (position, position))
            found.append(TopicPartition(*at, end if before == position else position))
        return found

    def before_leaving(self) -> None:
        """Commit while the group waits for this lane to let slots go."""
        if self._is_rejoining:  # in the middle of a commit that was refused: what it was for is lost with the slots
            return
        self._is_leaving = True
        try:
            self.commit()
        finally:
            self._is_leaving = False

    def commit(self, *, only_due: bool = False) -> None:
        """Make final what was done since the last time, in one transaction.

        Args:
            only_due: leave out tasks of queries that want to commit less often.
        """
        self._dirty_since, self._came = None, 0
        keeping = self._keeping
        done = self._finished(only_due=only_due)
        unread = keeping.unread
        forgotten = [task for tasks in self._forgotten.values() for task in tasks if task.slot in keeping.notes]
        if (done or forgotten) and not self._written(done, forgotten):
            for entry in done:  # what is left of them is ahead of Kafka
                keeping.close_task(entry.known, entry.task.id)
            return
        for entry in done:
            if entry.is_there:
                keeping.notes[entry.task.id.slot][entry.task.id.key] = entry.note
                entry.task.committed()
                entry.known.failures = 0
        for gone in forgotten:
            keeping.notes.get(gone.slot, {}).pop(gone.key, None)
        # Notes that are not read yet are forgotten when they are.
        left = {name: [task for task in tasks if task.slot in unread] for name, tasks in self._forgotten.items()}
        for query_id in [name for name, tasks in left.items() if not tasks]:
            self._tell(Stopped(query_id))
        self._forgotten = {name: tasks for name, tasks in left.items() if tasks}

    def _finished(self, *, only_due: bool) -> list[_Finished]:
        """What tasks have to say."""
        done: list[_Finished] = []
        later: list[float] = []
        now = time.monotonic()
        for known, task in self._keeping.tasks():
            if not task.is_dirty:
                continue
            if only_due and task.due_at > now:
                later.append(task.due_at)
                self.wanted()
                continue
            try:
                done.append(_Finished(known, task, *task.finish(self._topic)))
            except Exception as error:
                self._keeping.fail(known, error)
        self._due_at = min(later, default=0.0)
        return [entry for entry in done if entry.is_there]  # else another task of its query failed

    def _written(self, done: list[_Finished], forgotten: list[HostedTaskId]) -> bool:
        """Write it all; whether that was possible."""
        deadline = time.monotonic() + _FENCED_SECONDS
        while True:
            still = [entry for entry in done if entry.is_there]
            gone = [task for task in forgotten if task.slot in self._keeping.notes]
            records = [record for entry in still for record in entry.records]
            records += [(self._topic, task.slot, task.key, None, 1, None) for task in gone]
            slots = {entry.task.id.slot for entry in still} | {task.slot for task in gone}
            if not slots:
                return True
            try:
                offsets = [TopicPartition(self._topic, slot, 1) for slot in slots]
                if self._commits_inputs:
                    offsets += [at for entry in still for at in self._positions(entry.task)]
                self._write(records, offsets, still)
                self.commits += 1
                begun, first, _ = self.times
                if begun:
                    now = time.time()
                    self.times = (begun, first or now, now)
                return True
            except FencedError as error:
                if self._is_leaving or time.monotonic() > deadline:
                    log.warning("%s", error)
                    return False
                self._rejoin()
            except ProductionError as error:
                log.warning("%s", error)
                if error.topic is not None:
                    for entry in still:
                        if entry.is_there and entry.writes(error.topic):
                            self._keeping.fail(entry.known, error)
                else:  # Kafka may have all of it: its word did not come
                    self._keeping.doubt(slots)
                return False
            except StreamsError as error:  # a handler's own
                for entry in still:
                    if entry.is_there and asks_about_refused(entry.known.query.config):
                        self._keeping.fail(entry.known, error)
                return False

    def _write(self, records: list[OutputRecord], offsets: list[TopicPartition], done: list[_Finished]) -> None:
        """Write what tasks have to say, but for records that Kafka refuses and their handler leaves out."""

        def tell(refusal: Refusal) -> ProductionError:
            topologies = [entry.known.query.topology for entry in done if entry.writes(refusal.topic)]
            return told(refusal, self._config, topologies)

        writing = SureWriting(self._outputs, tell, asks=self._asks)
        try:
            writing.write(records)
            writing.commit(lambda: self._outputs.commit(offsets, self._membership))
        except Exception:
            self._outputs.start_over()
            raise
        if writing.count != len(records):  # some were left out, or became dead letters
            done[0].known.counted["written"] += writing.count - len(records)

    def _rejoin(self) -> None:
        """Others have come or gone, and this lane does not know yet which slots it has now: hear of it."""
        self._is_rejoining = True
        try:
            self._membership.poll(_REJOIN_SECONDS)
        finally:
            self._is_rejoining = False
