"""A run: a schedule carried out, and what is to be said about it."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from millstream.kafka.broker import DevBroker

from .feed import Feed
from .judging import judge, judge_early, judge_hanging
from .outcome import Outcome, Struck
from .results import Results
from .scene import Impatience, KafkaHangs, Scene, wait_until
from .schedule import Schedule
from .sides import Settings, Side
from .topics import Topics, admin

#: How often a fault strikes before the application has recovered from the one before.
_OVERLAP = 0.25


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
            judge(scene, schedule, outcome)
        except KafkaHangs as error:
            outcome.hanging = str(error)
            judge_hanging(scene, schedule, outcome)
        except (Impatience, TimeoutError) as error:
            outcome.complaints.append(str(error))
            judge_early(scene, schedule, outcome)
        outcome.complaints += scene.complaints
        outcome.restarts, outcome.may_refuse = scene.restarts, scene.may_refuse
    finally:
        _clear(scene)
        outcome.seconds = time.monotonic() - begun
        if outcome.is_well and not outcome.hanging:
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
        mode=schedule.mode,
        standbys=schedule.standbys,
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
        if number + 1 < len(schedule.faults) and chance.random() < _OVERLAP and schedule.overlapping:
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


def _wait_for_results(scene: Scene, condition: Callable[[], bool], what: str) -> None:
    def over() -> bool:
        scene.check_kafka()
        return condition() or scene.copy.given_up

    wait_until(over, what)
    if scene.copy.given_up and not scene.may_refuse:
        raise Impatience(f"{what}: the application ends again and again:\n{scene.copy.tail(20)}")


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
