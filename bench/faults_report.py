"""The table of docs/faults.md, from the last runs of bench/faults.py on both sides.

.venv/bin/python bench/faults_report.py

A run in parts is put together: of a schedule that is in several files faults-<side>*.json, the last by name counts.
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
#: What a column is called, and the side and the mode that it is of.
COLUMNS = {
    "Millstream, batches": ("millstream", "micro_batch"),
    "Millstream, continuously": ("millstream", "continuous"),
    "Kafka Streams": ("kafka-streams", None),
}


def main() -> None:
    runs = {name: _runs(side, mode) for name, (side, mode) in COLUMNS.items()}
    runs = {name: found for name, found in runs.items() if found}
    _row("", *runs)
    print("|---" * (len(runs) + 1) + "|")
    _row("schedules", *(str(len(found)) for found in runs.values()))
    _row("verdicts", *map(_verdicts, runs.values()))
    print()
    _row("seconds to recover: p50 (worst), first result / everywhere", *runs)
    print("|---" * (len(runs) + 1) + "|")
    times = [_times(found) for found in runs.values()]
    for name in (*(fault.name for fault in FAULTS), "all"):
        if any(found[name] for found in times):
            _row(name, *(_cell(found[name]) for found in times))


def _row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def _runs(side: str, mode: str | None) -> list[dict[str, Any]]:
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for file in sorted(OUT.glob(f"faults-{side}*.json")):
        found |= {(run["seed"], run["mode"]): run for run in json.loads(file.read_text())}
    return [run for _, run in sorted(found.items()) if mode in (None, run["mode"])]


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
