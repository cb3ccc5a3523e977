"""`python -m millstream.testing.conformance FILE... [--json REPORT]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from millstream.errors import ArgumentError
from millstream.testing.conformance.case import Case, load_cases
from millstream.testing.conformance.check import Verdict, check
from millstream.testing.conformance.quiet import quiet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases of the files; 1 when one fails."""
    parser = argparse.ArgumentParser(
        prog="python -m millstream.testing.conformance",
        description="Run conformance cases against Millstream and say where it differs from Kafka Streams.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a JSON array of cases")
    parser.add_argument("--json", metavar="REPORT", help="write a report to this file")
    parser.add_argument("--id", action="append", metavar="ID", help="run only this case (may be repeated)")
    parser.add_argument("--verbose", action="store_true", help="show all that a failing case expected and got")
    options = parser.parse_args(arguments)

    try:
        cases = [case for file in options.files for case in load_cases(file)]
    except (ArgumentError, OSError) as error:
        parser.error(str(error))
    if options.id:
        cases = _chosen(parser, cases, options.id)

    with quiet():
        verdicts = [check(case) for case in cases]
    failed = [verdict for verdict in verdicts if not verdict.passed]
    for verdict in failed:
        _print(verdict, verbose=options.verbose)
    if options.json:
        Path(options.json).write_text(json.dumps(_report(verdicts), indent=1) + "\n", encoding="utf-8")
    print(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _chosen(parser: argparse.ArgumentParser, cases: list[Case], ids: list[str]) -> list[Case]:
    unknown = set(ids) - {case.id for case in cases}
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    return [case for case in cases if case.id in ids]


def _print(verdict: Verdict, *, verbose: bool) -> None:
    print(f"{verdict.case.id}: {verdict.reasons[0]}")
    if verbose:
        for reason in verdict.reasons[1:]:
            print(f"  {reason}")
        print(verdict.details())


def _report(verdicts: list[Verdict]) -> dict[str, object]:
    passed = sum(verdict.passed for verdict in verdicts)
    return {
        "passed": passed,
        "failed": len(verdicts) - passed,
        "cases": [
            {
                "file": verdict.case.file,
                "id": verdict.case.id,
                "family": verdict.case.family,
                "status": "passed" if verdict.passed else "failed",
                "reasons": verdict.reasons,
            }
            for verdict in verdicts
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
