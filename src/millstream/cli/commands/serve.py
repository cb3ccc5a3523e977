"""`millstream serve`: the views of an application alone, to scale reads apart from processing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from millstream.cli.commands.view_client import PORT
from millstream.cli.connection import ClientOptions, Servers, reaching
from millstream.cli.listening import AdvertisedHost, Authorities, Certificate, Host, Key, TokenFile, server_settings
from millstream.cli.loading import load_application
from millstream.cli.logs import LogFormat, set_up_logging
from millstream.cli.progress import Teller
from millstream.config import StreamsConfig

#: How often it is looked whether copies have read up, and whether they are still read.
_LOOK_SECONDS = 0.5


def serve(
    application: Annotated[str, typer.Argument(help="path/to/app.py or package.module, with :name if need be")],
    bootstrap_servers: Servers = None,
    client: ClientOptions = None,
    application_id: Annotated[str | None, typer.Option(help="the application's id")] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="The port to listen on; 0 takes a free one.")] = PORT,
    advertised_host: AdvertisedHost = None,
    state_dir: Annotated[
        Path | None, typer.Option(help="where copies are kept; each instance on a machine needs its own")
    ] = None,
    standbys: Annotated[int | None, typer.Option(help="copies in reserve on other instances", min=0)] = None,
    token_file: TokenFile = None,
    certificate: Certificate = None,
    key: Key = None,
    authorities: Authorities = None,
    log_format: Annotated[LogFormat, typer.Option(help="how log lines look")] = LogFormat.TEXT,
) -> None:
    """Answer questions to an application's stores over HTTP until Ctrl-C; the application itself runs elsewhere."""
    from millstream.server.views.serving import ServedViews  # slow, and only this command needs it

    set_up_logging(log_format)
    settings = server_settings(host, port, advertised_host, token_file, certificate, key, authorities)
    loaded = load_application(application)
    config = loaded.config or StreamsConfig(application_id=loaded.name)
    changes: dict[str, Any] = {
        "application_id": application_id,
        "state_dir": state_dir,
        "num_standby_replicas": standbys,
    }
    config = replace(config, **{name: value for name, value in changes.items() if value is not None})
    config = reaching(config, bootstrap_servers, client)
    teller, stop = Teller(Console(stderr=True, highlight=False, soft_wrap=True)), threading.Event()
    with ExitStack() as after:
        for number in (signal.SIGINT, signal.SIGTERM):
            after.callback(signal.signal, number, signal.signal(number, lambda *_: stop.set()))
        served = ServedViews(loaded.topology, config, settings)
        after.callback(served.close)
        served.start()
        teller.tell(f"the views of {config.application_id} are at {served.url}, instance {served.views.instance.id}")
        _watch(teller, stop, served.views.is_ready)
        teller.tell("stopping")


def _watch(teller: Teller, stop: threading.Event, is_ready: Callable[[], bool]) -> None:
    """Tell when all partitions can be asked, and when they cannot any more.

    Raises:
        StateStoreError: the copies are not read any more.
    """
    was_ready = False
    while not stop.wait(_LOOK_SECONDS):
        ready = is_ready()
        if ready != was_ready:
            teller.tell("every store can be asked" if ready else "some partitions cannot be asked just now")
        was_ready = ready
