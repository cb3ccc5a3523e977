"""`millstream run`: an application on Spark, with a live line of what it does."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from millstream.agents.host.worker import Worker
from millstream.cli.cluster import Archives, Master, PyFiles, SparkOptions, spark_settings
from millstream.cli.connection import ClientOptions, Servers, reaching
from millstream.cli.listening import (
    AdvertisedHost,
    Authorities,
    Certificate,
    Host,
    Key,
    TokenFile,
    UsersFile,
    read_users,
    server_settings,
)
from millstream.cli.loading import load_application
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.cli.progress import Now, Teller, closing_line, watch
from millstream.config import ProcessingMode, StreamsConfig
from millstream.spark.client import KafkaStreams
from millstream.spark.life import State
from millstream.spark.startup.preflight import check
from millstream.spark.startup.signals import StopSignals
from millstream.spark.state.checkpoint import checkpoint_location

if TYPE_CHECKING:
    from millstream.console.application.console import ApplicationConsole


def run(
    application: Annotated[str, typer.Argument(help="path/to/app.py or package.module, with :name if need be")],
    bootstrap_servers: Servers = None,
    client: ClientOptions = None,
    application_id: Annotated[str | None, typer.Option(help="the application's id")] = None,
    master: Master = None,
    spark: SparkOptions = None,
    py_files: PyFiles = None,
    archives: Archives = None,
    threads: Annotated[int | None, typer.Option(help="cores to use without --master")] = None,
    exactly_once: Annotated[bool, typer.Option("--exactly-once", help="instead of at least once")] = False,
    processing_mode: Annotated[
        ProcessingMode | None, typer.Option(help="continuous, or batches with a checkpoint")
    ] = None,
    checkpoint: Annotated[str | None, typer.Option(help="where a restart finds what it needs, in batches")] = None,
    once: Annotated[bool, typer.Option("--once", help="process what is there and stop")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="tell nothing of the progress")] = False,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
    port: Annotated[
        int | None, typer.Option("--port", help="Answer questions to its stores over HTTP on this port; 0: a free one.")
    ] = None,
    console: Annotated[
        bool, typer.Option("--console", help="the web console, on --port or a free one; under /console")
    ] = False,
    host: Host = "127.0.0.1",
    advertised_host: AdvertisedHost = None,
    token_file: TokenFile = None,
    users_file: UsersFile = None,
    certificate: Certificate = None,
    key: Key = None,
    authorities: Authorities = None,
) -> None:
    """Run an application until Ctrl-C, or once over what is there."""
    set_up_logging(log_format)
    server = None
    if port is not None or console:
        users = read_users(users_file)
        server = server_settings(
            host, port or 0, advertised_host, token_file, certificate, key, authorities, users=users
        )
    loaded = load_application(application)
    config = loaded.config or StreamsConfig(application_id=loaded.name)
    changes: dict[str, Any] = {
        "application_id": application_id,
        "master": master,
        "num_stream_threads": threads,
        "processing_mode": processing_mode,
        "checkpoint_location": checkpoint,
        "processing_guarantee": "exactly_once_v2" if exactly_once else None,
    }
    config = replace(config, **{name: value for name, value in changes.items() if value is not None})
    executors = spark_settings(config.master, spark, py_files, archives)
    config = replace(reaching(config, bootstrap_servers, client), spark={**config.spark, **executors})
    check(loaded.topology, config)
    around = _console() if console else None
    worker = None
    if loaded.app is not None:
        worker = Worker(loaded.app, config, server=server, around=around)
        worker.prepare()
        streams = worker.streams
    else:
        streams = KafkaStreams(loaded.topology, config, server=server, around=around)
    teller, stop = Teller(Console(stderr=True, highlight=False, soft_wrap=True)), threading.Event()
    signals = StopSignals(signal.SIGINT, signal.SIGTERM)
    signals.starting()
    teller.tell(f"starting {config.application_id}; {_where_it_stands(config)}")
    streams.start(once=once)
    signals.running(stop.set)
    if worker is not None and not once:
        worker.start_beside()
    if streams.url is not None:
        teller.tell(f"its stores can be asked at {streams.url}")
        if console:
            teller.tell(f"the console is at {streams.url}/console")
    try:
        watch(teller, stop, lambda: _now(streams), quiet=quiet)
    finally:
        (streams if worker is None else worker).close()
    if streams.failure is not None:
        raise streams.failure
    teller.tell(closing_line(streams.metrics()))


def _console() -> type[ApplicationConsole]:
    from millstream.console.application.console import ApplicationConsole  # slow, and few want it

    return ApplicationConsole


def _where_it_stands(config: StreamsConfig) -> str:
    if config.processing_mode == "continuous":
        return "where it stands is in Kafka"
    return f"its checkpoint is {checkpoint_location(config)}"


def _now(streams: KafkaStreams) -> Now | None:
    state = streams.state
    return None if state in (State.NOT_RUNNING, State.ERROR) else Now(state.value, streams.metrics())
