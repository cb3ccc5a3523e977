"""What a comparison with Kafka Streams gave: a table, bench/out/peers.json and a chart, bench/out/peers.svg.

.venv/bin/python bench/peers_report.py [peers.json]    # table and chart again from rows that are there
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict
from xml.sax.saxutils import escape

OUT = Path(__file__).parent / "out"

EXACTLY_ONCE = "exactly_once_v2"
#: How many times as fast as Kafka Streams each workload has to be.
RATIO_TO_REACH = {EXACTLY_ONCE: 2.0, "at_least_once": 1.5}
RATIO_OF_JOIN_TO_REACH = {EXACTLY_ONCE: 1.5, "at_least_once": 1.2}
#: From a record to its result, at most.
LATENCY_TO_REACH_MS = {("p50", EXACTLY_ONCE): 60.0, ("p99", EXACTLY_ONCE): 170.0, ("p50", "at_least_once"): 10.0}
#: From the launch to the first result, at most.
START_TO_REACH_S = 6.0

THROUGHPUT = "records/s"
LATENCY = "ms"
START = "s"
MEMORY = "MB"
CPU = "CPU s/million"


class Row(TypedDict):
    """One measure of both systems. None: not measured, or no goal."""

    workload: str
    guarantee: str
    millstream: float | None
    kafka_streams: float | None
    #: Millstream's value divided by that of Kafka Streams: more is better for records/s, less for times.
    ratio: float | None
    unit: str
    #: The value Millstream has to reach.
    goal: float | None
    reached: bool | None
    #: Where Millstream's lanes spent their time, in seconds of all lanes together.
    stages: dict[str, float] | None


def throughput_row(
    workload: str,
    guarantee: str,
    millstream: float | None,
    kafka_streams: float | None,
    *,
    stages: dict[str, float] | None = None,
) -> Row:
    """Records per second."""
    factor = (RATIO_OF_JOIN_TO_REACH if workload == "join" else RATIO_TO_REACH).get(guarantee)
    goal = None if factor is None or kafka_streams is None else factor * kafka_streams
    return {**_row(workload, guarantee, millstream, kafka_streams, THROUGHPUT, goal), "stages": stages}


def latency_row(measure: str, guarantee: str, millstream_ms: float | None, kafka_streams_ms: float | None) -> Row:
    """Milliseconds from sending a record to seeing its result; `measure` is `p50` or another percentile."""
    goal = LATENCY_TO_REACH_MS.get((measure, guarantee))
    return _row(f"latency {measure}", guarantee, millstream_ms, kafka_streams_ms, LATENCY, goal)


def start_row(workload: str, guarantee: str, millstream_s: float | None, kafka_streams_s: float | None) -> Row:
    """Seconds from the start to the first result."""
    return _row(f"first result, {workload}", guarantee, millstream_s, kafka_streams_s, START, START_TO_REACH_S)


def taken_row(workload: str, guarantee: str, millstream: float, kafka_streams: float, *, unit: str) -> Row:
    """Peak of memory, or CPU time, of all processes of a run; less is better."""
    goal = kafka_streams if unit == CPU else None
    return _row(workload, guarantee, millstream, kafka_streams, unit, goal)


def _row(
    workload: str, guarantee: str, millstream: float | None, kafka_streams: float | None, unit: str, goal: float | None
) -> Row:
    reached = None
    if millstream is not None and goal is not None:
        reached = millstream >= goal if unit == THROUGHPUT else millstream < goal
    return {
        "workload": workload,
        "guarantee": guarantee,
        "millstream": millstream,
        "kafka_streams": kafka_streams,
        "ratio": round(millstream / kafka_streams, 2) if millstream is not None and kafka_streams else None,
        "unit": unit,
        "goal": goal,
        "reached": reached,
        "stages": None,
    }


def report(rows: Iterable[Row], out: Path = OUT) -> None:
    """Print the table, write the rows and the chart."""
    rows = list(rows)
    print(table(rows))
    print(profile(rows))
    out.mkdir(exist_ok=True)
    (out / "peers.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    (out / "peers.svg").write_text(chart(rows), encoding="utf-8")


# --- table


def table(rows: Iterable[Row]) -> str:
    """The rows as text."""
    lines = [f"{'workload':<26}{'guarantee':<18}{'Millstream':>12}{'Kafka Streams':>15}{'unit':>15}{'ratio':>8}  goal"]
    for row in rows:
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        mine, theirs = _number(row["millstream"], row["unit"]), _number(row["kafka_streams"], row["unit"])
        text = f"{row['workload']:<26}{row['guarantee']:<18}{mine:>12}{theirs:>15}{row['unit']:>15}{ratio:>8}"
        lines.append(f"{text}  {_goal(row)}".rstrip())
    return "\n".join(lines)


def profile(rows: Iterable[Row]) -> str:
    """Where Millstream's lanes spent their time, as shares."""
    lines = ["", "where the lanes' time goes:"]
    for row in rows:
        if row["stages"]:
            total = sum(row["stages"].values())
            shares = ", ".join(f"{stage} {seconds / total:.0%}" for stage, seconds in row["stages"].items())
            lines.append(f"{row['workload']:<14}{row['guarantee']:<18}{shares}")
    return "\n".join(lines)


def _goal(row: Row) -> str:
    goal = row["goal"]
    if goal is None:
        return ""
    if row["unit"] == THROUGHPUT and row["kafka_streams"]:
        text = f"ratio {goal / row['kafka_streams']:.1f}"
    else:
        text = f"under {_number(goal, row['unit'])} {row['unit']}"
    return text if row["reached"] is None else f"{text}: {'reached' if row['reached'] else 'missed'}"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if unit == THROUGHPUT else f"{value:,.1f}"


# --- chart

_WIDTH = 860
_LEFT = 300
_RIGHT = 130
_BAR = 14
_STEP = 2 * _BAR + 16
_MINE = "#2a6fbb"
_THEIRS = "#9aa5b1"
_GOAL = "#c0392b"
_TITLES = {
    THROUGHPUT: "Records per second (more is better)",
    LATENCY: "Latency at a steady rate, ms (less is better)",
    START: "From start to first result, s (less is better)",
    MEMORY: "Peak of memory of all processes, MB (less is better)",
    CPU: "CPU seconds per million records (less is better)",
}


def chart(rows: Iterable[Row]) -> str:
    """The rows as an SVG picture: a group of bars for each unit."""
    rows = list(rows)
    parts: list[str] = []
    y = 20
    for x, colour, name in ((20, _MINE, "Millstream"), (130, _THEIRS, "Kafka Streams"), (260, _GOAL, "goal")):
        width = 3 if colour == _GOAL else 12
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="12" fill="{colour}"/>')
        parts.append(_text(x + 18, y + 11, name))
    y += 40
    for unit, title in _TITLES.items():
        of_unit = [row for row in rows if row["unit"] == unit]
        if not of_unit:
            continue
        parts.append(_text(20, y + 4, title, weight="bold"))
        y += 22
        values = [row[name] or 0.0 for row in of_unit for name in ("millstream", "kafka_streams", "goal")]
        scale = (_WIDTH - _LEFT - _RIGHT) / (max(values) or 1.0)
        for row in of_unit:
            parts.extend(_bars(row, y, scale))
            y += _STEP
        y += 20
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y}" viewBox="0 0 {_WIDTH} {y}"'
    style = 'font-family="system-ui, sans-serif" font-size="12"'
    background = f'<rect width="{_WIDTH}" height="{y}" fill="white"/>'
    return "\n".join([f"{head} {style}>", background, *parts, "</svg>", ""])


def _bars(row: Row, y: int, scale: float) -> list[str]:
    middle = y + _BAR + 4
    parts = [_text(_LEFT - 10, middle, f"{row['workload']}, {row['guarantee']}", anchor="end")]
    ratio = "" if row["ratio"] is None else f" ({row['ratio']:.2f} x)"
    goal = (row["goal"] or 0.0) * scale
    for top, value, colour, note, reach in (
        (y, row["millstream"], _MINE, ratio, goal),
        (y + _BAR + 1, row["kafka_streams"], _THEIRS, "", 0.0),
    ):
        width = (value or 0.0) * scale
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{colour}"/>')
        parts.append(_text(_LEFT + max(width, reach) + 6, top + 11, _number(value, row["unit"]) + note))
    if goal:
        parts.append(f'<rect x="{_LEFT + goal - 1:.1f}" y="{y - 2}" width="2" height="{_BAR + 4}" fill="{_GOAL}"/>')
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="#222">{escape(text)}</text>'
    )


def main() -> None:
    """Show rows that were measured before."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT / "peers.json"
    report(json.loads(path.read_bytes()))


if __name__ == "__main__":
    main()
