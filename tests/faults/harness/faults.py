"""The faults. Each strikes a scene and answers from when on it should recover, a moment of the wall clock.

An outage that the harness itself ends (a stopped process, a broker that is away, a full disk) counts as over when it
ends; from then on the clock of the recovery runs.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from millstream.config import ProcessingMode

from .processes import Process, pick
from .scene import Impatience, Scene, wait_until
from .topics import admin
from .truth import truth

Strike = Callable[[Scene, random.Random], float]

_WAITS = "runs on host"
_COPY_SECONDS = 90.0
#: The exit code of a copy that is ended while it starts.
_TERMINATED = 128 + signal.SIGTERM
_BOTH: tuple[ProcessingMode, ...] = get_args(ProcessingMode)
_BATCHES: tuple[ProcessingMode, ...] = ("micro_batch",)


@dataclass(frozen=True)
class Fault:
    """A kind of fault."""

    name: str
    strike: Strike
    #: How often it comes, beside the others.
    weight: int = 2
    #: The modes of Millstream in which there is something that it strikes.
    modes: tuple[ProcessingMode, ...] = _BOTH
    #: Whether it makes sense for Kafka Streams, too.
    for_peer: bool = False
    #: Whether it needs a schedule of its own.
    alone: bool = False
    #: Whether it needs a checkpoint on a small disk.
    needs_disk: bool = False
    #: Whether there are such processes only where executors are processes of their own.
    needs_cluster: bool = False


# --- processes


def _kill(kind: str, scene: Scene, chance: random.Random) -> float:
    process = pick(_wait_for(kind, scene), chance)
    if process is not None:
        process.send(signal.SIGKILL)
    return time.time()


def _kill_machine(scene: Scene, chance: random.Random) -> float:
    """The driver and its JVM at once: what is left of a machine's application when its supervisor starts it anew."""
    for process in [*scene.copy.of_kind("jvm"), *scene.copy.of_kind("driver")]:
        process.send(signal.SIGKILL)
    return time.time()


def _stop(kind: str, scene: Scene, chance: random.Random) -> float:
    process = pick(_wait_for(kind, scene), chance)
    if process is None:
        return time.time()
    process.send(signal.SIGSTOP)
    try:
        time.sleep(_outage(chance))
    finally:
        process.send(signal.SIGCONT)
    return time.time()


def _wait_for(kind: str, scene: Scene) -> list[Process]:
    """The processes of a kind; workers come and go, so a little patience."""
    with contextlib.suppress(Impatience):
        wait_until(lambda: scene.copy.of_kind(kind), f"a process of kind {kind}", 20)
    return scene.copy.of_kind(kind)


def _outage(chance: random.Random) -> float:
    """2 to 20 seconds, mostly short."""
    return 2 + 18 * chance.random() ** 3


# --- the broker


def _broker_stopped(scene: Scene, chance: random.Random) -> float:
    scene.broker.restart()
    return time.time()


def _broker_killed(scene: Scene, chance: random.Random) -> float:
    scene.broker.kill()
    time.sleep(chance.uniform(0, 3))
    scene.broker.restart()
    return time.time()


def _broker_paused(scene: Scene, chance: random.Random) -> float:
    os.kill(scene.broker.pid, signal.SIGSTOP)
    try:
        time.sleep(_outage(chance))
    finally:
        os.kill(scene.broker.pid, signal.SIGCONT)
    return time.time()


# --- further copies


def _second_copy(then: str, scene: Scene, chance: random.Random) -> float:
    """A second copy starts beside; the first is killed, stopped or asked to end, and the second has all the work."""
    first, second = scene.copy, scene.another_copy()
    second.start()
    if scene.copies_wait:
        try:
            wait_until(
                lambda: _WAITS in second.said(), f"a second copy says that the first one {_WAITS}", _COPY_SECONDS
            )
        except Impatience as error:
            scene.complaints.append(str(error))
    else:
        wait_until(lambda: second.state == "RUNNING", "the start of a second copy")
    time.sleep(chance.uniform(0, 3))
    scene.copy = second
    if then == "ended":
        struck = time.time()
        was_starting = first.state != "RUNNING"
        code = first.terminate()
        if code not in scene.side.end_codes and not (was_starting and code == _TERMINATED):
            scene.complaints.append(f"the first copy ended with {code}")
    elif then == "killed":
        first.kill()
        struck = time.time()
    else:
        first.abandon()
        stopped = first.processes()
        struck = time.time()
        for process in stopped:
            process.send(signal.SIGSTOP)
        time.sleep(8 + _outage(chance))
        for process in stopped:
            process.send(signal.SIGCONT)
        time.sleep(chance.uniform(0, 5))  # it may try to go on
        first.kill()
    return struck


def _other_checkpoint(scene: Scene, chance: random.Random) -> float:
    """A second copy with another checkpoint has to end with an error that says what is wrong."""
    second = scene.another_copy(checkpoint=str(scene.disk / "another-checkpoint"))
    second.start(supervised=False)
    try:
        wait_until(lambda: second.code is not None, "a second copy with another checkpoint is refused", _COPY_SECONDS)
        if second.code == 0 or "checkpoint" not in second.said():
            scene.complaints.append(f"a second copy with another checkpoint ended with {second.code}, no clear error")
    except Impatience as error:
        scene.complaints.append(str(error))
    struck = time.time()
    second.kill()
    return struck


# --- functions


def _flaky(scene: Scene, chance: random.Random) -> float:
    """Functions raise a few times, at random records; at times while so much waits that lanes of batches work ahead."""
    times = chance.randint(1, 3)
    if chance.random() < 0.6:
        kind = "ahead" if scene.settings.mode == "micro_batch" else "quick"
        return _flaky_in_burst(scene, chance, kind, numbers=chance.randint(1_000, 2_000), times=times)
    _arm(scene, chance, "quick", times=times)
    return _when_spent(scene)


def flaky_ahead(scene: Scene, chance: random.Random, *, numbers: int, times: int) -> float:
    """So much waits that lanes go on with it between two batches; it is then that functions raise."""
    return _flaky_in_burst(scene, chance, "ahead", numbers=numbers, times=times)


def _flaky_in_burst(scene: Scene, chance: random.Random, kind: str, *, numbers: int, times: int) -> float:
    _arm(scene, chance, kind, times=times)
    scene.feed.burst(numbers)
    return _when_spent(scene)


def _worker_dies_while_lane_fails(scene: Scene, chance: random.Random) -> float:
    """A function takes a while to raise; who asked the lane to run it is gone by then."""
    (token,) = _arm(scene, chance, "slow", times=1)
    with contextlib.suppress(Impatience):
        wait_until((scene.spent / token).exists, "a function that raises", 30)
    for process in scene.copy.of_kind("worker"):
        process.send(signal.SIGKILL)
    return _when_spent(scene)


def _arm(scene: Scene, chance: random.Random, kind: str, *, times: int) -> list[str]:
    """Have functions raise so many times; answers what the tokens for it are called."""
    names = [f"{kind}-{chance.randrange(10**12)}" for _ in range(times)]
    for name in names:
        (scene.tokens / name).touch()
    return names


def _when_spent(scene: Scene) -> float:
    with contextlib.suppress(Impatience):  # there may have been no such record
        wait_until(lambda: not any(scene.tokens.iterdir()), "functions that raise", 30)
    for token in scene.tokens.iterdir():
        token.unlink(missing_ok=True)
    return time.time()


# --- the disk


def _disk_full(scene: Scene, chance: random.Random) -> float:
    """The disk with the checkpoint is full until the application has felt it, or for some seconds."""
    filler = scene.disk / "filler"
    before = scene.copy.restarts
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65_536))
    try:
        with contextlib.suppress(Impatience):
            wait_until(lambda: scene.copy.restarts > before, "a restart", chance.uniform(3, 10))
    finally:
        filler.unlink()
    return time.time()


# --- topics


def _topic_recreated(scene: Scene, chance: random.Random) -> float:
    """An input topic is deleted and made again: its new records are processed, or it is said that they are not."""
    scene.feed.pause()
    broker, topics = scene.broker.bootstrap_servers, scene.topics
    expected = truth(broker, topics, {}).expected[topics.visit_counts]
    wait_until(
        lambda: all(
            (scene.results.values[topics.visit_counts].get(key) or [0])[-1] == n for key, n in expected.items()
        ),
        "all visits are counted",
    )
    client = admin(broker)
    client.delete_topics([topics.visits])
    wait_until(lambda: topics.visits not in client.topics(), "the end of a topic")
    time.sleep(chance.choice((0, 0, 3)))  # it may be noticed or not that the topic was away
    topics.create_input(broker, topics.visits)
    scene.visits_before, scene.may_refuse = expected, True
    scene.feed.resume()
    return time.time()


FAULTS = (
    Fault("kill driver", functools.partial(_kill, "driver"), 3, for_peer=True),
    Fault("kill driver and JVM", _kill_machine, 3),
    Fault("kill JVM", functools.partial(_kill, "jvm")),
    Fault("kill lane", functools.partial(_kill, "lane"), 3),
    Fault("kill worker", functools.partial(_kill, "worker")),
    Fault("kill reader", functools.partial(_kill, "reader"), modes=_BATCHES),
    Fault("kill executor", functools.partial(_kill, "executor"), needs_cluster=True),
    Fault("stop driver", functools.partial(_stop, "driver"), for_peer=True),
    Fault("stop JVM", functools.partial(_stop, "jvm")),
    Fault("stop lane", functools.partial(_stop, "lane")),
    # Continuously, nobody waits for the process from which lanes were forked.
    Fault("stop worker", functools.partial(_stop, "worker"), modes=_BATCHES),
    Fault("broker restarted", _broker_stopped, for_peer=True),
    Fault("broker killed", _broker_killed, for_peer=True),
    Fault("broker paused", _broker_paused, for_peer=True),
    Fault("second copy, first killed", functools.partial(_second_copy, "killed"), for_peer=True),
    Fault("second copy, first stopped", functools.partial(_second_copy, "stopped"), for_peer=True),
    Fault("second copy, first ended", functools.partial(_second_copy, "ended"), for_peer=True),
    Fault("second copy, other checkpoint", _other_checkpoint, modes=_BATCHES),
    Fault("flaky function", _flaky, 4, for_peer=True),
    Fault("worker killed while its lane fails", _worker_dies_while_lane_fails, 3, modes=_BATCHES),
    Fault("disk full", _disk_full, needs_disk=True, modes=_BATCHES),
    Fault("topic made again", _topic_recreated, alone=True),
)
BY_NAME = {fault.name: fault for fault in FAULTS}


def can_fill_disks() -> bool:
    """Whether this user may mount a small disk, which can be filled."""
    return os.geteuid() == 0 and shutil.which("mount") is not None
