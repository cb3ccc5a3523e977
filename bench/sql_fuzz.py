"""Mutated statements: each gives a result or a clear statement error, never anything else, and never a hang.

.venv/bin/python bench/sql_fuzz.py [--count N] [--seed N]
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sql.parser.fuzzing import fuzz, mutations

from millstream.sql.parser import parse

SHOWN = 20


def run(statement: str) -> object:
    return parse(statement, variables={"topic": "t"}, tests=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    run("SHOW STREAMS;")
    begin = time.perf_counter()
    report = fuzz(run, mutations(chosen.seed, chosen.count))
    seconds = time.perf_counter() - begin
    for statement, problem in report.wrong[:SHOWN]:
        print(f"--- {problem}\n{statement[:1000]!r}")
    print(
        f"{chosen.count} statements in {seconds:.0f} s, {seconds / chosen.count * 1e3:.2f} ms each: "
        f"{report.done} with a result, {report.refused} refused, {len(report.wrong)} wrong"
    )
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
