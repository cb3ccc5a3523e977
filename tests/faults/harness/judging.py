"""The end of a run: its results are waited for and held against the truth."""

from __future__ import annotations

import time

from .feed import Feed
from .outcome import Outcome
from .scene import Impatience, KafkaHangs, Scene, wait_until
from .schedule import Schedule
from .stacks import keep_stacks
from .truth import Truth, truth
from .verdict import Verdict, compare

#: How long there may be nothing new before it is asked whether there will be.
_QUIET_SECONDS = 30.0
_PROBE_SECONDS = 60.0
_PROBES = 200
#: Longer than it takes an application to say that a transaction does not end.
_TOLD_SECONDS = 240.0


def judge(scene: Scene, schedule: Schedule, outcome: Outcome) -> None:
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
        _ask_kafka(scene)
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


def judge_early(scene: Scene, schedule: Schedule, outcome: Outcome) -> None:
    """What was waited for did not come: say what the application is like, and whether there is too much already."""
    if scene.copy.given_up:
        _judge_refusal(scene, outcome)
    else:
        outcome.verdict = Verdict.SILENT
        scene.complaints.append(f"the application says {scene.copy.state}")
        if hanging := scene.hanging():
            lost = ", ".join(map(str, hanging))
            scene.complaints.append(f"Kafka has lost the end of transactions, of which nobody speaks: {lost}")
        keep_stacks(scene.copy, scene.directory)
    scene.feed.end()
    known = truth(scene.broker.bootstrap_servers, scene.topics, scene.visits_before)
    outcome.records = known.records
    found = compare(known, scene.results.values, scene.topics, caching=schedule.caching)
    if found.doubled:
        outcome.found, outcome.verdict = found, Verdict.DOUBLED


def judge_hanging(scene: Scene, schedule: Schedule, outcome: Outcome) -> None:
    """Kafka keeps results back for ever: what came before must be right all the same."""
    outcome.verdict = Verdict.HANGING
    scene.feed.end()
    if scene.copy.terminate() not in scene.side.end_codes:
        scene.complaints.append(f"the application ended with {scene.copy.code} after SIGTERM")
    known = truth(scene.broker.bootstrap_servers, scene.topics, scene.visits_before, decided=True)
    outcome.records = known.records
    found = compare(known, scene.results.values, scene.topics, caching=schedule.caching)
    if found.doubled or found.disordered:
        outcome.found, outcome.verdict = found, found.verdict


def _ask_kafka(scene: Scene) -> None:
    """No results come: if that is because Kafka has lost the end of a transaction, the application has to say so."""
    if scene.hanging():
        wait_until(
            lambda: scene.tells_of_hanging, "the application says that a transaction does not end", _TOLD_SECONDS
        )
        raise KafkaHangs(", ".join(map(str, scene.hanging())))


def _probe(scene: Scene, outcome: Outcome, known: Truth) -> Truth:
    """Results are missing and none come: see whether there are any for new records. If so, the others are lost."""
    before = scene.results.total
    first = scene.feed.number
    more = Feed(scene.broker.bootstrap_servers, scene.topics, rate=100, records=_PROBES, seed=first, first=first)
    more.start()
    try:
        wait_until(lambda: scene.results.total > before, "results for new records", _PROBE_SECONDS)
        wait_until(lambda: more.number >= first + _PROBES, "new records")
    except Impatience:
        outcome.verdict = Verdict.SILENT
        scene.complaints.append(f"the application says {scene.copy.state}, and gives no results")
        keep_stacks(scene.copy, scene.directory)
    more.end()
    # Those of the new records come as those before did, or not at all.
    while time.monotonic() - scene.results.latest < _QUIET_SECONDS / 3:
        time.sleep(0.1)
    return truth(scene.broker.bootstrap_servers, scene.topics, scene.visits_before)


def _judge_refusal(scene: Scene, outcome: Outcome) -> None:
    """The application ends again and again: it has to say why."""
    outcome.verdict = Verdict.REFUSED
    if scene.may_refuse and scene.topics.visits not in scene.copy.said():
        scene.complaints.append(f"the application does not go on, and does not say why:\n{scene.copy.tail(20)}")


def _leaves_nothing(scene: Scene) -> None:
    try:
        wait_until(lambda: not scene.copy.processes(), "the end of all processes", 30)
    except Impatience:
        left = ", ".join(process.command[:120] for process in scene.copy.processes())
        scene.complaints.append(f"processes are left over: {left}")
