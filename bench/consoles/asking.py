"""Asks a console what its pages ask, as often as they do, until its standard input ends: a browser without a screen.

asking.py HOST PORT PATH ...
"""

from __future__ import annotations

import http.client
import select
import sys

_EVERY_SECONDS = 2.0


def main() -> None:
    host, port, *paths = sys.argv[1:]
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    while True:
        for path in paths:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, path
        if select.select([sys.stdin], [], [], _EVERY_SECONDS)[0]:
            return


if __name__ == "__main__":
    main()
