"""The table of docs/faults.md, from the last runs of bench/faults.py on both sides.

.venv/bin/python bench/faults_report.py
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.harness.faults import FAULTS

OUT = Path(__file__).parent / "out"
SIDES = ("millstream", "kafka-streams")


def main() -> None:
    runs = {side: json.loads((OUT / f"faults-{side}.json").read_text()) for side in SIDES}
    print("| | Millstream | Kafka Streams |\n|---|---|---|")
    print(f"| schedules | {' | '.join(str(len(runs[side])) for side in SIDES)} |")
    print(f"| verdicts | {' | '.join(_verdicts(runs[side]) for side in SIDES)} |\n")
    print("| seconds to recover: p50 (worst), first result / everywhere | Millstream | Kafka Streams |\n|---|---|---|")
    times = {side: _times(runs[side]) for side in SIDES}
    for name in (*(fault.name for fault in FAULTS), "all"):
        if any(times[side][name] for side in SIDES):
            print(f"| {name} | {' | '.join(_cell(times[side][name]) for side in SIDES)} |")


def _verdicts(runs: list[dict[str, Any]]) -> str:
    found = Counter(run["verdict"] if not run["complaints"] else f"{run['verdict']} with complaints" for run in runs)
    return ", ".join(f"{count} {verdict}" for verdict, count in found.items())


def _times(runs: list[dict[str, Any]]) -> dict[str, list[list[float | None]]]:
    times: dict[str, list[list[float | None]]] = defaultdict(list)
    for run in runs:
        for name, recovery in run["faults"]:
            if recovery is not None:
                times[name].append(recovery)
                times["all"].append(recovery)
    return times


def _cell(found: list[list[float | None]]) -> str:
    if not found:
        return "-"
    parts = []
    for values in zip(*found, strict=True):
        known = [value for value in values if value is not None]
        middle = f"{statistics.median(known):.1f}" if known else "-"
        parts.append(f"{middle} ({max(known):.1f})" if len(known) == len(values) else f"{middle} (never)")
    return " / ".join(parts)


if __name__ == "__main__":
    main()
