"""`millstream sql`: a shell, or a script of statements; its persistent queries run on Spark until they are stopped."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from millstream.cli.cluster import Archives, Master, PyFiles, SparkOptions, spark_settings
from millstream.cli.connection import ClientOptions, Servers, connection, settings
from millstream.cli.interactive import Asked, Embedded, start_shell
from millstream.cli.listening import Authorities
from millstream.cli.loading import load_module
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.cli.progress import Now, Teller, watch
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.shell.output import Output
from millstream.spark.startup.signals import StopSignals
from millstream.sql.engine.answers.entities import CurrentStatus, Entity, PrintedTopic, WarningEntity

if TYPE_CHECKING:
    from millstream.sql.engine.api import Ksql


def sql(
    script: Annotated[
        Path | None,
        typer.Argument(help="a file of statements that run in this process, or - for the standard input"),
    ] = None,
    server: Annotated[
        str | None, typer.Option(metavar="URL", help="the server that the shell asks; one in this process if not given")
    ] = None,
    execute: Annotated[
        str | None, typer.Option("--execute", "-e", metavar="STATEMENTS", help="have them executed, and leave")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="have the statements of a file executed by the server, and leave")
    ] = None,
    output: Annotated[Output, typer.Option(help="how answers are shown")] = Output.TABULAR,
    user: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:PASSWORD]",
            envvar="MILLSTREAM_USER",
            show_envvar=True,
            help="whom to be for the server; asks for the password if it is not there",
        ),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(envvar="MILLSTREAM_TOKEN_FILE", help="a file whose first line is the token to show")
    ] = None,
    authorities: Authorities = None,
    bootstrap_servers: Servers = None,
    client: ClientOptions = None,
    service_id: Annotated[
        str | None,
        typer.Option(help="names the engine: queries of one id share their state; sql, or default_ for the shell"),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="a ksql.* property")
    ] = None,
    functions: Annotated[
        list[str] | None,
        typer.Option("--functions", "-f", metavar="MODULE", help="user functions: functions.py or package.module"),
    ] = None,
    master: Master = None,
    spark: SparkOptions = None,
    py_files: PyFiles = None,
    archives: Archives = None,
    threads: Annotated[int, typer.Option(help="cores to use without --master")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="tell nothing of the progress")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="the same as --output json")] = False,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
) -> None:
    """Without SCRIPT, a shell. With it, execute a script; if it started queries, run them until Ctrl-C."""
    output = Output.JSON if as_json else output
    config = StreamsConfig(
        application_id=service_id or "sql",
        master=master,
        num_stream_threads=threads,
        spark=spark_settings(master, spark, py_files, archives),
    )
    if script is None:
        start_shell(
            Asked(server, execute, file, user, token_file, authorities, output),
            Embedded(config, bootstrap_servers, client, service_id, setting, functions, log_format),
        )
        return
    if server or execute or file:
        raise ArgumentError(
            "a script runs in this process; --server, --execute and --file are for the shell",
            hint=f"to have a server execute it: millstream sql --server URL --file {script}",
        )

    from millstream.sql.engine.api import Ksql  # takes a while to import, and other commands need none of it

    set_up_logging(log_format)
    text = _text(script)
    reached = connection(bootstrap_servers, client)
    config = replace(config, bootstrap_servers=reached.bootstrap_servers, client=reached.client)
    modules = [load_module(location) for location in functions or ()]
    out = Console(highlight=False, soft_wrap=True)
    teller = Teller(Console(stderr=True, highlight=False, soft_wrap=True))
    stop, signals = threading.Event(), StopSignals(signal.SIGINT, signal.SIGTERM)
    signals.starting()
    with Ksql(config, settings("--set", setting), functions=modules) as ksql:
        for entity in ksql.run(text):
            show(out, entity, as_json=output is Output.JSON)
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
        console.print(record.line, markup=False)


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
    names = list(dict.fromkeys(name for row in rows for name in row))  # some have only what there is to say
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return json.dumps(value, default=str) if isinstance(value, dict | list) else str(value)
