"""`python -m millstream.sql.conformance DIR... [--json REPORT]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from millstream.errors import ArgumentError
from millstream.sql.conformance.case import Case, load
from millstream.sql.conformance.check import Status, Verdict, check
from millstream.testing.conformance.quiet import quiet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases of directories and files; 1 when one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m millstream.sql.conformance",
        description="Run ksqlDB's functional tests against Millstream SQL and say where it differs.",
    )
    parser.add_argument("paths", nargs="+", metavar="DIR", help="a directory of JSON files, or a JSON file")
    parser.add_argument("--json", metavar="REPORT", help="write a report to this file")
    parser.add_argument("--id", action="append", metavar="PART", help="run only cases whose id has this part")
    parser.add_argument("--suite", action="append", choices=["qtt", "rqtt", "yatt"], help="run only this suite")
    parser.add_argument("--tag", action="append", metavar="TAG", help="run only cases with this tag")
    parser.add_argument("--tags", action="store_true", help="show the results of each tag")
    options = parser.parse_args(arguments)
    try:
        cases = load(options.paths)
    except (ArgumentError, OSError) as error:
        parser.error(str(error))
    cases = [case for case in cases if _chosen(case, options)]
    with quiet():
        verdicts = [check(case) for case in cases]
    for verdict in verdicts:
        if verdict.status is Status.FAILED:
            print(f"{verdict.case.id}: {verdict.reason}")
    if options.json:
        Path(options.json).write_text(json.dumps(report(verdicts), indent=1) + "\n", encoding="utf-8")
    if options.tags:
        for tag, counts in by_tag(verdicts).items():
            print(f"{tag}: {_counted(counts)}")
    for suite in ("qtt", "rqtt", "yatt"):
        counts = Counter(verdict.status for verdict in verdicts if verdict.case.suite == suite)
        if counts:
            print(f"{suite}: {_counted(counts)}")
    totals = Counter(verdict.status for verdict in verdicts)
    print(f"{totals[Status.PASSED]} passed, {totals[Status.FAILED]} failed")
    return 1 if totals[Status.FAILED] else 0


def report(verdicts: Sequence[Verdict]) -> dict[str, object]:
    """All results, for machines."""
    totals = Counter(verdict.status for verdict in verdicts)
    return {
        **{status.value.replace(" ", "_"): totals[status] for status in Status},
        "tags": {
            tag: {status.value.replace(" ", "_"): counts[status] for status in Status}
            for tag, counts in by_tag(verdicts).items()
        },
        "cases": [
            {
                "id": verdict.case.id,
                "suite": verdict.case.suite,
                "status": verdict.status.value,
                "reason": verdict.reason,
                "tags": verdict.case.tags,
            }
            for verdict in verdicts
        ],
    }


def by_tag(verdicts: Sequence[Verdict]) -> dict[str, Counter[Status]]:
    """How many cases of each tag went how."""
    found: dict[str, Counter[Status]] = {}
    for verdict in verdicts:
        for tag in verdict.case.tags:
            found.setdefault(tag, Counter())[verdict.status] += 1
    return dict(sorted(found.items()))


def _counted(counts: Counter[Status]) -> str:
    return f"{counts[Status.PASSED]} passed, {counts[Status.FAILED]} failed"


def _chosen(case: Case, options: argparse.Namespace) -> bool:
    return (
        (not options.id or any(part in case.id for part in options.id))
        and (not options.suite or case.suite in options.suite)
        and (not options.tag or any(tag in case.tags for tag in options.tag))
    )


if __name__ == "__main__":
    sys.exit(main())
