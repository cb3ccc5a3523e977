"""`millstream run`: an application on Spark, with a live line of what it does."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from millstream.cli.loading import load_application
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.config import StreamsConfig
from millstream.spark.client import KafkaStreams, State
from millstream.spark.signals import StopSignals

_REFRESH_SECONDS = 0.5


def run(
    application: Annotated[str, typer.Argument(help="path/to/app.py or package.module, with :name if need be")],
    bootstrap_servers: Annotated[
        str | None, typer.Option("--bootstrap-servers", "-b", help="host:port, or 'embedded'")
    ] = None,
    application_id: Annotated[str | None, typer.Option(help="the application's id")] = None,
    master: Annotated[str | None, typer.Option(help="Spark's master, such as local[4] or spark://host:7077")] = None,
    threads: Annotated[int | None, typer.Option(help="cores to use without --master")] = None,
    exactly_once: Annotated[bool, typer.Option("--exactly-once", help="instead of at least once")] = False,
    checkpoint: Annotated[str | None, typer.Option(help="where a restart finds what it needs")] = None,
    once: Annotated[bool, typer.Option("--once", help="process what is there and stop")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="no live line")] = False,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
) -> None:
    """Run an application until Ctrl-C, or once over what is there."""
    set_up_logging(log_format)
    loaded = load_application(application)
    config = loaded.config or StreamsConfig(application_id=loaded.name)
    changes: dict[str, Any] = {
        "bootstrap_servers": bootstrap_servers,
        "application_id": application_id,
        "master": master,
        "num_stream_threads": threads,
        "checkpoint_location": checkpoint,
        "processing_guarantee": "exactly_once_v2" if exactly_once else None,
    }
    config = replace(config, **{name: value for name, value in changes.items() if value is not None})
    streams = KafkaStreams(loaded.topology, config)
    console = Console(stderr=True, highlight=False)
    stop = threading.Event()
    signals = StopSignals(signal.SIGINT, signal.SIGTERM)
    signals.starting()
    console.print(f"starting [bold]{config.application_id}[/bold] ...")
    streams.start(once=once)
    signals.running(stop.set)
    try:
        _watch(streams, console, stop, live=not quiet and console.is_terminal)
    finally:
        streams.close()
    if streams.failure is not None:
        raise streams.failure
    totals = streams.metrics()
    console.print(
        f"stopped after {totals['process-total']:,.0f} records in {totals['commit-total']:,.0f} batches, "
        f"{totals['records-produced-total']:,.0f} written"
    )


def _watch(streams: KafkaStreams, console: Console, stop: threading.Event, *, live: bool) -> None:
    if not live:
        while not stop.is_set() and not streams.wait(timedelta(seconds=_REFRESH_SECONDS)):
            pass
        return
    before, since = 0.0, time.monotonic()
    with Live(Text(""), console=console, transient=True, auto_refresh=False) as display:
        while not stop.wait(_REFRESH_SECONDS) and streams.state in (State.RUNNING, State.REBALANCING):
            totals, now = streams.metrics(), time.monotonic()
            rate = (totals["process-total"] - before) / (now - since)
            before, since = totals["process-total"], now
            display.update(status_line(streams.state, rate, totals), refresh=True)


def status_line(state: State, rate: float, totals: dict[str, float]) -> Text:
    """One line of what an application does."""
    return Text.assemble(
        (f"{state.value:<12}", "bold green" if state is State.RUNNING else "bold yellow"),
        f"{rate:>12,.0f} records/s   lag {totals['records-lag']:>10,.0f}",
        f"   batch {totals['batch-seconds'] * 1000:>6,.0f} ms   state {totals['state-bytes'] / 1e6:>8,.1f} MB",
        f"   dropped {totals['dropped-records-total']:,.0f}",
    )
