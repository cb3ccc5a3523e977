"""Mutated statements: each gives a result or a clear statement error, never anything else, and never a hang.

.venv/bin/python bench/sql_fuzz.py [--engine] [--count N] [--seed N]

Statements are parsed; with --engine they are executed as well, in an engine that runs its queries in test drivers.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sql.fuzz.fuzzing import engine, fuzz, parser
from tests.sql.fuzz.mutations import mutations


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--engine", action="store_true")
    arguments.add_argument("--count", type=int, default=100_000)
    arguments.add_argument("--seed", type=int, default=1)
    chosen = arguments.parse_args()
    logging.disable()
    run = engine() if chosen.engine else parser()
    run("SHOW STREAMS;")  # the grammar is made when it is used first
    begin = time.perf_counter()
    report = fuzz(run, mutations(chosen.seed, chosen.count))
    seconds = time.perf_counter() - begin
    examples: dict[str, list[tuple[str, str]]] = {}
    for statement, problem in report.wrong:
        examples.setdefault(problem.split(": ")[0], []).append((statement, problem))
    for found in examples.values():
        statement, problem = min(found, key=lambda one: len(one[0]))
        print(f"--- {len(found)} times, such as: {problem}\n{statement[:1000]!r}")
    print(
        f"{chosen.count} statements in {seconds:.0f} s, {seconds / chosen.count * 1e3:.2f} ms each: "
        f"{report.done} with a result, {report.refused} refused, {len(report.wrong)} wrong"
    )
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
