"""`millstream query`: ask the stores of a running application."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.commands.view_client import PORT, Pairs, ViewClient
from millstream.cli.listening import Authorities, read_tokens
from millstream.errors import ArgumentError

#: Rows that a table shows at most.
_SHOWN = 1000
#: Columns of a table that is not on a terminal.
_WIDEST = 100_000


def query(
    store: Annotated[str | None, typer.Argument(help="The store; without one, the stores there are.")] = None,
    key: Annotated[list[str] | None, typer.Option("--key", "-k", help="A key; may be given several times.")] = None,
    low: Annotated[str | None, typer.Option("--from", help="The lowest key.")] = None,
    high: Annotated[str | None, typer.Option("--to", help="The highest key.")] = None,
    prefix: Annotated[str | None, typer.Option(help="What keys begin with.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every key.")] = False,
    window: Annotated[
        str | None,
        typer.Option(metavar="START/END", help="Windows that start between two times; either may be left out."),
    ] = None,
    session: Annotated[bool, typer.Option("--session", help="Sessions, of a key or of all.")] = False,
    as_of: Annotated[str | None, typer.Option(help="What was valid at a time; versioned stores.")] = None,
    history: Annotated[bool, typer.Option("--history", help="All versions of a key; versioned stores.")] = False,
    reverse: Annotated[bool, typer.Option("--reverse", help="The last first.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many rows.")] = None,
    max_staleness: Annotated[str | None, typer.Option(help="Not older than this: 500ms, 2s.")] = None,
    min_position: Annotated[str | None, typer.Option(help="At least as new: the position of another answer.")] = None,
    standby: Annotated[bool, typer.Option("--standby", help="Copies in reserve may answer, too.")] = False,
    server: Annotated[
        str, typer.Option(envvar="MILLSTREAM_SERVER", help="Where it is asked.")
    ] = f"http://127.0.0.1:{PORT}",
    token_file: Annotated[
        Path | None, typer.Option(envvar="MILLSTREAM_TOKEN_FILE", help="A file whose first line is the token to show.")
    ] = None,
    authorities: Authorities = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON for each row, instead of a table.")] = False,
) -> None:
    """Ask the stores of a running application, by key, range, window, session or time.

    Times are milliseconds since 1970, or such as 2026-01-31T12:00:00Z. Keys are text for string keys, decimal for
    numbers, base64 for bytes, and JSON for all others.
    """
    client = ViewClient(server, next(iter(read_tokens(token_file)), None), authorities)
    try:
        if store is None:
            _show_stores(client.get(["stores"])["stores"], as_json=as_json)
            return
        needs: Pairs = [
            (name, value)
            for name, value in (
                ("reverse", "true" if reverse else None),
                ("limit", None if limit is None else str(limit)),
                ("max_staleness", max_staleness),
                ("min_position", min_position),
                ("standby", "true" if standby else None),
                ("as_of", as_of),
            )
            if value is not None
        ]
        keys = key or []
        asked = [bool(keys), low is not None or high is not None, prefix is not None, everything]
        if sum(asked) > 1:
            raise ArgumentError("keys, a range, a prefix and --all exclude each other", hint="give one of them")
        windowed = window is not None or session
        if not any(asked) and not windowed:
            raise ArgumentError("what is to be asked?", hint="give --key, --from and --to, --prefix, --window or --all")
        if windowed:
            path, more = _windowed(store, keys, low, high, window, session=session)
        elif history:
            path, more = ["stores", store, "versions", _only(keys, "--history")], []
        elif as_of is not None:
            path, more = ["stores", store, "keys", _only(keys, "--as-of")], []
        else:
            path, more = ["stores", store, "keys"], [("key", each) for each in keys]
            bounds = (("from", low), ("to", high), ("prefix", prefix))
            more += [(name, value) for name, value in bounds if value is not None]
        if as_of is not None:
            lines = _as_lines(client.get(path, more + needs))
        else:
            lines = client.lines(path, more + needs)
        if as_json:
            _print_json(lines)
        else:
            _print_table(lines)
    finally:
        client.close()


def _windowed(
    store: str, keys: list[str], low: str | None, high: str | None, window: str | None, *, session: bool
) -> tuple[list[str], Pairs]:
    """The path and the parameters for windows or sessions."""
    kind, parameters = "sessions" if session else "windows", []
    if window is not None:
        start, slash, end = window.partition("/")
        if not slash:
            raise ArgumentError(f"--window cannot be {window!r}", hint="write START/END; either may be left out")
        if session and not keys:
            raise ArgumentError("--window with --session needs a key", hint="give --key, or leave --window out")
        parameters += [(name, value) for name, value in (("from", start), ("to", end)) if value]
    if keys:
        return ["stores", store, kind, _only(keys, f"--{kind[:-1]}")], parameters
    parameters += [(name, value) for name, value in (("from_key", low), ("to_key", high)) if value is not None]
    return ["stores", store, kind], parameters


def _only(keys: list[str], option: str) -> str:
    if len(keys) != 1:
        raise ArgumentError(f"{option} needs one --key", detail=f"there are {len(keys)}")
    return keys[0]


def _as_lines(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The answer to a question for a single row, as a stream would have it."""
    end = {name: answer.pop(name) for name in ("position", "lag", "answered_by")}
    answer.pop("store")
    yield "row", answer
    yield "end", {"more": False, **end}


def _print_json(lines: Iterator[tuple[str, Any]]) -> None:
    for name, content in lines:
        if name == "row":
            sys.stdout.write(msgspec.json.encode(content).decode() + "\n")


def _print_table(lines: Iterator[tuple[str, Any]]) -> None:
    rows, end = [], None
    for name, content in islice(lines, _SHOWN + 1):
        if name == "end":
            end = content
        else:
            rows.append(content)
    columns = [name for name in ("key", "window", "value", "timestamp", "valid_to") if any(name in row for row in rows)]
    table = Table(box=None, pad_edge=False)
    for name in columns or ["key", "value"]:
        table.add_column(name.replace("_", " "))
    for row in rows[:_SHOWN]:
        table.add_row(*(_cell(name, row.get(name)) for name in columns))
    _wide().print(table)
    Console(stderr=True, soft_wrap=True, highlight=False).print(_summary(rows[:_SHOWN], end), style="dim")


def _summary(rows: list[Any], end: dict[str, Any] | None) -> str:
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    if end is None:
        return f"the first {count}; --json shows all, --limit fewer"
    behind = sum(lag["records"] for lag in end["lag"].values())
    instances = sorted({by["instance"] for by in end["answered_by"].values()})
    more = ", and there are more" if end["more"] else ""
    return f"{count}{more}; {behind} records behind, answered by {', '.join(instances) or 'nobody'}"


def _cell(name: str, value: Any) -> str:
    if value is None and name not in ("key", "value"):
        return ""
    if name == "window":
        return f"{_time(value['start'])} to {_time(value['end'])}"
    if name in ("timestamp", "valid_to"):
        return _time(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _time(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # the end of time
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _wide() -> Console:
    """Where tables go: a row is a line, also where the width is not known."""
    return Console(soft_wrap=True, width=None if sys.stdout.isatty() else _WIDEST)


def _show_stores(stores: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        _print_json(iter([("row", store) for store in stores]))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("store", "kind", "partitions", "topic"):
        table.add_column(name, justify="right" if name == "partitions" else "left")
    for store in stores:
        partitions = "all" if store["global"] else str(store["partitions"] or "-")
        table.add_row(store["name"], store["kind"], partitions, store["topic"])
    _wide().print(table)
