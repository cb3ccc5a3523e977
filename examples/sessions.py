"""Visits of a web site: clicks become sessions, sessions become the path a visitor took.

python examples/sessions.py
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from millstream import Consumed, EmitStrategy, Materialized, Serdes, SessionWindows, StreamsBuilder, Topology
from millstream.testing import TopologyTestDriver

MINUTE = 60_000

#: Minute, visitor and page. Ann's second click comes last but one: late, and it joins two sessions into one.
CLICKS = [
    (0, "ann", "/"),
    (2, "bob", "/"),
    (12, "ann", "/shop/tea"),
    (6, "ann", "/shop"),
    (60, "cleo", "/"),  # time goes on, so the sessions above close
]


Click = dict[str, Any]


def add(visitor: str, click: Click, path: list[Click]) -> list[Click]:
    return [*path, click]


def topology() -> Topology:
    builder = StreamsBuilder()
    visits = SessionWindows.of_inactivity_gap(timedelta(minutes=10), grace=timedelta(minutes=10))
    # A result can be emitted only while its session is kept: keep sessions longer than the quiet times between clicks.
    kept = Materialized("visits", value=Serdes.json, retention=timedelta(hours=2))
    (
        builder.stream("clicks", Consumed(Serdes.string, Serdes.json))
        .group_by_key()
        .windowed_by(visits)
        .emit_strategy(EmitStrategy.ON_WINDOW_CLOSE)
        .aggregate(list, add, lambda visitor, a, b: a + b, kept)
        .to_stream()
        .to("visits")
    )
    return builder.build()


def main() -> None:
    with TopologyTestDriver(topology()) as driver:
        clicks = driver.input_topic("clicks", Serdes.string, Serdes.json)
        for minute, visitor, page in CLICKS:
            clicks.pipe(visitor, {"minute": minute, "page": page}, timestamp=minute * MINUTE)
        visits = driver.output_topic("visits", Serdes.session_windowed_string, Serdes.json)
        for session, path in visits.read_key_values():
            minutes = (session.window.end - session.window.start) // MINUTE
            pages = " -> ".join(click["page"] for click in sorted(path, key=lambda click: click["minute"]))
            print(f"{session.key} was here for {minutes} minutes: {pages}")


if __name__ == "__main__":
    main()
