"""`millstream server`: a ksqlDB service."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console as Terminal

from millstream.cli.cluster import Archives, Master, PyFiles, SparkOptions, spark_settings
from millstream.cli.connection import ClientOptions, Servers, connection, settings
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
from millstream.cli.loading import load_module
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.cli.progress import Teller
from millstream.config import StreamsConfig
from millstream.errors import ArgumentError

#: Statements are in the URL of a websocket.
_MAX_URL = 64 * 1024


def server(
    bootstrap_servers: Servers = None,
    client: ClientOptions = None,
    service_id: Annotated[
        str, typer.Option(help="names the service; servers of one id share statements and work")
    ] = "default_",
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on; 0 takes a free one.")] = 8088,
    advertised_host: AdvertisedHost = None,
    queries_file: Annotated[
        Path | None,
        typer.Option(help="run the statements of this file and take no others (headless)", exists=True, dir_okay=False),
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
    threads: Annotated[int, typer.Option(help="lanes to run without --master", min=1)] = 2,
    token_file: TokenFile = None,
    users_file: UsersFile = None,
    allowed_origin: Annotated[
        list[str] | None, typer.Option(help="web pages from there may ask; none unless given")
    ] = None,
    certificate: Certificate = None,
    key: Key = None,
    authorities: Authorities = None,
    console: Annotated[bool, typer.Option(help="the web console, under /console")] = True,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
) -> None:
    """Serve ksqlDB's REST API until Ctrl-C; queries run on Spark, shared with the other servers of the service."""
    from millstream.console.service.console import ServiceConsole
    from millstream.ksqldb.server import KsqlServer  # slow, and only this command needs it

    set_up_logging(log_format)
    reached = connection(bootstrap_servers, client)
    config = StreamsConfig(
        bootstrap_servers=reached.bootstrap_servers,
        client=reached.client,
        master=master,
        num_stream_threads=1 if master else threads,
        spark=spark_settings(master, spark, py_files, archives),
    )
    http = replace(
        server_settings(
            host, port, advertised_host, token_file, certificate, key, authorities, users=read_users(users_file)
        ),
        allowed_origins=tuple(allowed_origin or ()),
        max_url=_MAX_URL,
    )
    text = None if queries_file is None else _text(queries_file)
    teller, stop = Teller(Terminal(stderr=True, highlight=False, soft_wrap=True)), threading.Event()
    with ExitStack() as after:
        for number in (signal.SIGINT, signal.SIGTERM):
            after.callback(signal.signal, number, signal.signal(number, lambda *_: stop.set()))
        served = KsqlServer(
            config,
            {"ksql.service.id": service_id, **settings("--set", setting)},
            http,
            functions=[load_module(location) for location in functions or ()],
            queries=text,
            around=ServiceConsole if console else None,
        )
        after.callback(served.close)
        served.start()
        teller.tell(f"service {service_id} is at {served.url}{' (headless)' if text is not None else ''}")
        if console:
            teller.tell(f"the console is at {served.url}/console")
        stop.wait()
        teller.tell("stopping; the next start goes on from here")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"cannot read {file}", detail=str(error)) from error
