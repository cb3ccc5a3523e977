"""The console: how soon its pages open, whether much data slows the browser, and what an application pays for it.

.venv/bin/python bench/console.py [--records 20000000] [--rounds 5] [--only pages|throughput]

Pages: a server with 50 queries, 200 topics, a table of 10,000 keys and a topic of a million records; Debian's Chromium
on the same machine opens each page several times, and follows the topic while records are written to it. Throughput:
see `consoles/throughput.py`; what Chromium itself takes is told apart, as it usually runs elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from millstream.kafka.broker import DevBroker

sys.path.insert(0, str(Path(__file__).parents[1]))
from consoles.pages import measure_pages
from consoles.throughput import measure_throughput
from tests.console.browser import missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000_000, help="of the backlog")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["pages", "throughput"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, DevBroker(Path(name) / "broker") as broker:
        if given.only != "throughput":
            if why := missing():
                print(why)
            else:
                measure_pages(broker.bootstrap_servers, Path(name))
        if given.only != "pages":
            measure_throughput(broker.bootstrap_servers, Path(name), given.records, given.rounds)


if __name__ == "__main__":
    main()
