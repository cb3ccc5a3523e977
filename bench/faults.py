"""Faults at random, on a real broker: does an application lose, double or withhold results, and how soon is it back?

.venv/bin/python bench/faults.py [--runs 100] [--seed 1] [--only KIND] [--mode MODE] [--parallel 1]
                                 [--peer kafka-streams]

Run N of seed S is the schedule of seed S + N, and is the same whenever it is run; only the moments differ a little:
`--runs 1 --seed 17` runs schedule 17 again. What a schedule is, and what strikes, is in tests/faults/harness. The
exit code is 1 if anything was lost, doubled or silent. The numbers are also in bench/out/faults-<side>.json,
after every schedule; `--out` names another file there, for a run that adds to one before.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import get_args

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parent))

from tests.faults.harness import processes
from tests.faults.harness.faults import FAULTS, can_fill_disks
from tests.faults.harness.outcome import Outcome
from tests.faults.harness.run import carry_out
from tests.faults.harness.schedule import schedule
from tests.faults.harness.sides import KafkaStreams, Millstream, Side

from millstream.config import ProcessingMode
from millstream.jvm.java import find_java
from millstream.kafka.broker import DevBroker

OUT = Path(__file__).parent / "out"
PEER = "kafka-streams"


def run_all(
    seeds: Sequence[int],
    side: Side,
    only: str | None,
    mode: ProcessingMode | None,
    parallel: int,
    hear: Callable[[Outcome], None],
) -> None:
    """Run schedules, each row of them on a broker of its own; all that was started ends with this."""
    owner = uuid.uuid4().hex
    base = Path(tempfile.mkdtemp(prefix="millstream-faults-"))
    guard = processes.start_guard(owner, base)
    ending = threading.Event()

    def row(number: int) -> None:
        with DevBroker(base / f"broker-{number}") as broker:
            for seed in seeds[number::parallel]:
                if not ending.is_set():
                    plan = schedule(seed, only=only, mode=mode, peer=side.name == PEER)
                    hear(carry_out(plan, side, broker, owner, base))

    try:
        if parallel == 1:
            row(0)
        else:
            with ThreadPoolExecutor(parallel) as pool:
                try:
                    list(pool.map(row, range(parallel)))
                finally:
                    ending.set()
    finally:
        processes.kill_all(owner)
        guard.kill()
        guard.wait()
        processes.unmount_below(base)
        for broker in base.glob("broker-*"):
            shutil.rmtree(broker, ignore_errors=True)
        if not any(base.iterdir()):
            base.rmdir()


def summary(outcomes: Sequence[Outcome], side: Side) -> str:
    """Verdicts, and of each kind of fault how soon results came again."""
    verdicts = Counter("OK" if outcome.is_well else outcome.verdict.value for outcome in outcomes)
    unmet = sum(bool(outcome.complaints) for outcome in outcomes)
    times: dict[str, list[tuple[float | None, float | None]]] = defaultdict(list)
    wrong = Counter[str]()
    for outcome in outcomes:
        for struck in outcome.struck:
            if struck.recovery is not None:
                times[struck.name].append((struck.recovery.first, struck.recovery.everywhere))
        for name in {struck.name for struck in outcome.struck}:
            wrong[name] += not outcome.is_well
    lines = [
        f"{side.name}: {len(outcomes)} schedules: {', '.join(f'{n} {name}' for name, n in verdicts.items())}; "
        f"{unmet} with complaints; {sum(outcome.restarts for outcome in outcomes)} restarts",
        f"{'seconds to the first result, to results everywhere':52}{'times':>6}{'p50':>14}{'worst':>14}  not well",
    ]
    rows = [(name, times[name]) for name in (fault.name for fault in FAULTS) if times[name]]
    for name, found in [*rows, ("all", [one for _, each in rows for one in each])]:
        first, everywhere = ([pair[i] for pair in found] for i in (0, 1))
        lines.append(
            f"{name:52}{len(found):6}{_middle(first):>7}{_middle(everywhere):>7}{_worst(first):>7}{_worst(everywhere):>7}"
            f"  {wrong[name] or ''}"
        )
    return "\n".join(lines)


def _middle(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f}" if known else "-"


def _worst(values: Sequence[float | None]) -> str:
    if None in values:
        return "never"
    return f"{max(value for value in values if value is not None):.1f}" if values else "-"


def _write(outcomes: Sequence[Outcome], file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    rows = [
        {
            "seed": outcome.schedule.seed,
            "mode": outcome.schedule.mode,
            "verdict": str(outcome.verdict.value),
            "found": str(outcome.found),
            "complaints": outcome.complaints,
            "restarts": outcome.restarts,
            "seconds": outcome.seconds,
            "faults": [
                [struck.name, struck.recovery and [struck.recovery.first, struck.recovery.everywhere]]
                for struck in outcome.struck
            ],
        }
        for outcome in outcomes
    ]
    file.write_text(json.dumps(rows, indent=1))


def _peer() -> KafkaStreams:
    from peers.build import build

    return KafkaStreams(find_java(), build())


def _interrupted(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run what is asked for; the exit code says whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help=f"part of a fault's name: {', '.join(fault.name for fault in FAULTS)}")
    parser.add_argument("--mode", choices=get_args(ProcessingMode), help="of Millstream; else each seed says it")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--peer", choices=(PEER,))
    parser.add_argument("--out", help="the file for the numbers, in bench/out")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupted)
    side: Side = _peer() if given.peer else Millstream()
    if not can_fill_disks():
        print(f"user {os.geteuid()} cannot mount a small disk: the fault 'disk full' is left out", flush=True)
    outcomes: list[Outcome] = []
    file = OUT / (given.out or f"faults-{side.name}.json")
    hearing = threading.Lock()

    def hear(outcome: Outcome) -> None:
        with hearing:
            print(outcome, flush=True)
            outcomes.append(outcome)
            _write(outcomes, file)

    run_all(range(given.seed, given.seed + given.runs), side, given.only, given.mode, given.parallel, hear)
    print(summary(outcomes, side))
    sys.exit(0 if all(outcome.is_well for outcome in outcomes) else 1)


if __name__ == "__main__":
    main()
