"""`millstream sql`: a script of statements; its persistent queries run on Spark until they are stopped."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.connection import ClientOptions, Servers, connection, settings
from millstream.cli.loading import load_module
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.cli.progress import Now, Teller, watch
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.spark.startup.signals import StopSignals
from millstream.sql.engine.answers.entities import CurrentStatus, Entity, PrintedTopic, WarningEntity

if TYPE_CHECKING:
    from millstream.sql.engine.api import Ksql


def sql(
    script: Annotated[Path, typer.Argument(help="a file of statements, or - for the standard input")],
    bootstrap_servers: Servers = None,
    client: ClientOptions = None,
    service_id: Annotated[str, typer.Option(help="names the engine: queries of one id share their state")] = "sql",
    setting: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="a ksql.* property")
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option("--functions", "-f", metavar="MODULE", help="user functions: functions.py or package.module"),
    ] = None,
    master: Annotated[str | None, typer.Option(help="Spark's master, such as local[4] or spark://host:7077")] = None,
    threads: Annotated[int, typer.Option(help="cores to use without --master")] = 1,
    exactly_once: Annotated[bool, typer.Option("--exactly-once", help="instead of at least once")] = False,
    checkpoint: Annotated[str | None, typer.Option(help="where a restart finds what it needs")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="tell nothing of the progress")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="answers as JSON, one per line")] = False,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
) -> None:
    """Execute a script; if it started queries, run them until Ctrl-C."""
    from millstream.sql.engine.api import Ksql  # takes a while to import, and other commands need none of it

    set_up_logging(log_format)
    text = _text(script)
    reached = connection(bootstrap_servers, client)
    config = StreamsConfig(
        application_id=service_id,
        bootstrap_servers=reached.bootstrap_servers,
        client=reached.client,
        master=master,
        num_stream_threads=threads,
        processing_guarantee="exactly_once_v2" if exactly_once else "at_least_once",
        checkpoint_location=checkpoint,
    )
    modules = [load_module(location) for location in functions or ()]
    out = Console(highlight=False, soft_wrap=True)
    teller = Teller(Console(stderr=True, highlight=False, soft_wrap=True))
    stop, signals = threading.Event(), StopSignals(signal.SIGINT, signal.SIGTERM)
    signals.starting()
    with Ksql(config, settings("--set", setting), functions=modules) as ksql:
        for entity in ksql.run(text):
            show(out, entity, as_json=as_json)
        if ksql.queries:
            signals.running(stop.set)
            count = len(ksql.queries)
            teller.tell(
                f"running {count} {'query' if count == 1 else 'queries'}; Ctrl-C stops {'it' if count == 1 else 'them'}"
            )
            watch(teller, stop, lambda: _now(ksql), quiet=quiet)
    if stop.is_set():
        teller.tell("stopped; the next start goes on from here")


def _now(ksql: Ksql) -> Now | None:
    """What all queries together do.

    Raises:
        MillstreamError: a query failed.
    """
    if ksql.wait(timedelta(0)):
        return None
    totals: Counter[str] = Counter()
    for numbers in ksql.metrics().values():
        totals.update(numbers)
    return Now("running", dict(totals))


def _text(script: Path) -> str:
    if str(script) == "-":
        return typer.get_text_stream("stdin").read()
    try:
        return script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {script}", detail=str(error)) from error


def show(console: Console, entity: Entity, *, as_json: bool) -> None:
    """Print an answer: lists as tables, all else as text."""
    if isinstance(entity, PrintedTopic):
        _show_records(console, entity)
        return
    content = entity.to_json()
    if as_json:
        console.print(json.dumps(content, default=str), markup=False)
    elif isinstance(entity, CurrentStatus | WarningEntity):
        console.print(entity.message, markup=False)
    else:
        _show_content(console, content)


def _show_records(console: Console, printed: PrintedTopic) -> None:
    console.print(f"Key format: {printed.key_format}\nValue format: {printed.value_format}", markup=False)
    for record in printed.records:
        console.print(
            f"rowtime: {record.rowtime}, key: {record.key}, value: {record.value}, partition: {record.partition}",
            markup=False,
        )


def _show_content(console: Console, content: dict[str, Any]) -> None:
    for name, value in content.items():
        if name in ("@type", "statementText", "warnings"):
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            console.print(_table(value))
        elif isinstance(value, dict):
            _show_content(console, value)
        elif value not in (None, "", [], {}):
            console.print(f"{name}: {value}", markup=False)


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in rows[0]:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
