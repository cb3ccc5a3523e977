"""A run: a schedule carried out, and what is to be said about it."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from millstream.kafka.broker import DevBroker

from .feed import Feed
from .results import Recovery, Results
from .scene import Impatience, Scene, wait_until
from .schedule import Schedule
from .sides import Settings, Side
from .topics import Topics, admin
from .truth import Truth, truth
from .verdict import Found, Verdict, compare

#: How long there may be nothing new before it is asked whether there will be.
_QUIET_SECONDS = 30.0
_PROBE_SECONDS = 60.0
#: How often a fault strikes before the application has recovered from the one before.
_OVERLAP = 0.25


@dataclass(frozen=True)
class Struck:
    """A fault that struck, and how long it took to recover from it, if that could be measured."""

    name: str
    recovery: Recovery | None


@dataclass
class Outcome:
    """What a run came to."""

    schedule: Schedule
    verdict: Verdict = Verdict.OK
    found: Found | None = None
    struck: list[Struck] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    may_refuse: bool = False
    restarts: int = 0
    records: int = 0
    seconds: float = 0.0
    #: Where its files are, if they were kept.
    directory: Path | None = None

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong."""
        right = self.verdict is Verdict.OK or (self.verdict is Verdict.REFUSED and self.may_refuse)
        return right and not self.complaints

    def __str__(self) -> str:
        schedule = self.schedule
        how = [schedule.master, schedule.stores, *["caching"] * schedule.caching, *["replace"] * schedule.replace]
        struck = ", ".join(f"{one.name} {_seconds(one.recovery)}" for one in self.struck)
        said = str(self.found) if self.verdict in _COUNTED and self.found is not None else self.verdict.value
        line = f"seed {schedule.seed}: {said} | {struck} | {self.restarts} restarts, {self.records:,} records, "
        line += f"{' '.join(how)}, {self.seconds:.0f} s"
        for complaint in (*self.complaints, *(self.found.examples if self.found else ())):
            line += f"\n    {complaint}"
        if self.directory is not None:
            line += f"\n    see {self.directory}"
        return line


_COUNTED = (Verdict.OK, Verdict.LOST, Verdict.DOUBLED, Verdict.DISORDERED)


def carry_out(schedule: Schedule, side: Side, broker: DevBroker, owner: str, base: Path | None = None) -> Outcome:
    """Run a schedule on a broker. The files of a run that went well are removed.

    Args:
        schedule: what happens.
        side: what it happens to.
        broker: a broker, which others may have used before.
        owner: who started this, for the guard.
        base: where directories are made.
    """
    begun = time.monotonic()
    outcome = Outcome(schedule)
    scene = _scene(schedule, side, broker, owner, base)
    try:
        try:
            if any(fault.needs_disk for fault in schedule.faults):
                scene.mount_disk()
            _strike(scene, schedule, outcome)
            _judge(scene, schedule, outcome)
        except Impatience as error:
            outcome.complaints.append(str(error))
            outcome.verdict = Verdict.REFUSED if scene.copy.given_up else Verdict.SILENT
            if scene.copy.given_up:
                _judge_refusal(scene, outcome)
        outcome.complaints += scene.complaints
        outcome.restarts, outcome.may_refuse = scene.restarts, scene.may_refuse
    finally:
        _clear(scene)
        outcome.seconds = time.monotonic() - begun
        if outcome.is_well:
            scene.remove()
        else:
            outcome.directory = scene.directory
    return outcome


def _scene(schedule: Schedule, side: Side, broker: DevBroker, owner: str, base: Path | None) -> Scene:
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=base))
    for name in ("disk", "tokens", "tokens-spent"):
        (directory / name).mkdir()
    application = f"faults-{uuid.uuid4().hex[:8]}"
    topics = Topics(f"{application}.")
    bootstrap = broker.bootstrap_servers
    topics.create(bootstrap)
    settings = Settings(
        application=application,
        bootstrap=bootstrap,
        prefix=topics.prefix,
        checkpoint=str(directory / "disk" / "checkpoint"),
        state="",
        tokens=str(directory / "tokens"),
        master=schedule.master,
        stores=schedule.stores,
        caching=schedule.caching,
        replace=schedule.replace,
        max_batch_records=1_000,
    )
    feed = Feed(bootstrap, topics, rate=schedule.rate, records=schedule.records, seed=schedule.seed)
    return Scene(side, broker, owner, directory, settings, topics, feed, Results(bootstrap, topics))


def _strike(scene: Scene, schedule: Schedule, outcome: Outcome) -> None:
    """Start everything, and let one fault strike after the other."""
    chance = random.Random(schedule.seed + 1)
    scene.copy.start()
    scene.feed.start()
    _wait_for_results(scene, lambda: scene.results.recovery(0).everywhere is not None, "the first results")
    for number, fault in enumerate(schedule.faults):
        time.sleep(chance.uniform(0, 1.5))  # somewhere in a batch
        since = fault.strike(scene, chance)
        if number + 1 < len(schedule.faults) and chance.random() < _OVERLAP:
            outcome.struck.append(Struck(fault.name, None))
            continue

        def recovered(since: float = since) -> bool:
            return scene.results.recovery(since).everywhere is not None or (scene.may_refuse and scene.copy.given_up)

        try:
            _wait_for_results(scene, recovered, f"results after: {fault.name}")
        finally:
            outcome.struck.append(Struck(fault.name, scene.results.recovery(since)))
    # A schedule is over when its records are out, too.
    wait_until(lambda: scene.feed.number >= schedule.records or scene.copy.given_up, "the records are written")


def _wait_for_results(scene: Scene, condition: object, what: str) -> None:
    assert callable(condition)
    wait_until(lambda: condition() or scene.copy.given_up, what)
    if scene.copy.given_up and not scene.may_refuse:
        raise Impatience(f"{what}: the application ends again and again:\n{scene.copy.tail(20)}")


def _judge(scene: Scene, schedule: Schedule, outcome: Outcome) -> None:
    """Wait for the results of all records, end everything, and compare."""
    scene.feed.end()
    known = truth(scene.broker.bootstrap_servers, scene.topics, scene.visits_before)
    outcome.records = known.records

    def complete() -> bool:
        scene.results.check()
        values = scene.results.values
        return all(
            len(values[topic].get(key, ())) >= count
            if topic == scene.topics.pairs
            else int((values[topic].get(key) or [0])[-1]) >= count
            for topic, expected in known.expected.items()
            for key, count in expected.items()
        )

    while not complete() and not scene.copy.given_up and time.monotonic() - scene.results.latest < _QUIET_SECONDS:
        time.sleep(0.1)
    if scene.copy.given_up:
        _judge_refusal(scene, outcome)
        return
    if not complete():
        known = _probe(scene, outcome, known)
    if outcome.verdict is Verdict.SILENT:
        return
    code = scene.copy.terminate()
    if code not in scene.side.end_codes:
        scene.complaints.append(f"the application ended with {code} after SIGTERM")
    scene.results.close(to_end=True)
    outcome.found = compare(known, scene.results.values, scene.topics, caching=schedule.caching)
    outcome.verdict = outcome.found.verdict
    _leaves_nothing(scene)


def _probe(scene: Scene, outcome: Outcome, known: Truth) -> Truth:
    """Results are missing and none come: see whether there are any for new records. If so, the others are lost."""
    before = scene.results.total
    more = Feed(scene.broker.bootstrap_servers, scene.topics, rate=100, records=200, seed=scene.feed.number)
    more.skip_to(scene.feed.number)
    more.start()
    try:
        wait_until(lambda: scene.results.total > before, "results for new records", _PROBE_SECONDS)
        wait_until(lambda: more.number >= scene.feed.number + 200, "new records")
    except Impatience:
        outcome.verdict = Verdict.SILENT
        scene.complaints.append(f"the application says {scene.copy.state}, and gives no results")
    more.end()
    # Those of the new records come as those before did, or not at all.
    while time.monotonic() - scene.results.latest < _QUIET_SECONDS / 3:
        time.sleep(0.1)
    return truth(scene.broker.bootstrap_servers, scene.topics, scene.visits_before)


def _judge_refusal(scene: Scene, outcome: Outcome) -> None:
    outcome.verdict = Verdict.REFUSED
    if scene.may_refuse and scene.topics.visits not in scene.copy.said():
        scene.complaints.append(f"the application does not go on, and does not say why:\n{scene.copy.tail(20)}")


def _leaves_nothing(scene: Scene) -> None:
    try:
        wait_until(lambda: not scene.copy.processes(), "the end of all processes", 30)
    except Impatience:
        left = ", ".join(process.command[:120] for process in scene.copy.processes())
        scene.complaints.append(f"processes are left over: {left}")


def _clear(scene: Scene) -> None:
    """End everything, and have the broker as it was."""
    broker = scene.broker
    try:
        scene.end()
        scene.feed.end()
    finally:
        if broker.running:
            os.kill(broker.pid, signal.SIGCONT)
        else:
            broker.restart()
        client = admin(broker.bootstrap_servers)
        client.delete_topics([name for name in client.topics() if name.startswith(scene.settings.application)])
