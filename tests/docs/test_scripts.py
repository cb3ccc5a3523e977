"""The scripts in `examples/` run, and tell the story they are meant to tell."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

#: What each script must say, in this order.
STORIES = {
    "orders.py": [
        "6 of 8 orders are above 100 euro",
        "12:00  APAC  orders 1  euro 500",
        "12:00  EMEA  orders 2  euro 430",
        "12:05  EMEA  orders 1  euro 300",
        "250 euro to EMEA for Ann Lee (gold)",
        "500 euro to APAC for unknown customer",
        "1 order came too late",
    ],
    "agents.py": ["bot looked at 3 pages within a minute", "home: 2", "shop: 2", "tea: 1"],
    "word_count.py": ["the 1", "the 2", "stream 2"],
    "sessions.py": ["bob was here for 0 minutes: /", "ann was here for 12 minutes: / -> /shop -> /shop/tea"],
    "dead_letters.py": [
        "paid: b1",
        "dead letter: this is no json (millstream.errors.SerdeError)",
        "skipped 2 of 4 records",
    ],
}


#: Needs a broker and Spark: tests/spark/test_demo.py.
LIVE = {"live_orders.py"}


def test_every_script_is_tested() -> None:
    assert {script.name for script in EXAMPLES.glob("*.py")} == set(STORIES) | LIVE


@pytest.mark.parametrize("script", STORIES)
def test_script(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    printed = capsys.readouterr().out
    at = 0
    for line in STORIES[script]:
        assert line in printed[at:], f"{script} does not say {line!r}; it says:\n{printed}"
        at = printed.index(line, at) + len(line)
