"""`millstream console`: the web console of a server elsewhere."""

from __future__ import annotations

import signal
import threading
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console as Terminal

from millstream.cli.progress import Teller
from millstream.server.settings import ServerSettings


def console(
    url: Annotated[str, typer.Argument(metavar="URL", help="the server, such as http://host:8088")],
    port: Annotated[int, typer.Option(help="the port on this machine; 0 takes a free one")] = 0,
    ca: Annotated[
        Path | None, typer.Option("--ca", help="certificates that the server's must be signed by", exists=True)
    ] = None,
    browse: Annotated[bool, typer.Option("--browse/--no-browse", help="open it in a browser")] = True,
) -> None:
    """Serve the console of a server elsewhere on this machine, until Ctrl-C; log in with that server's users."""
    from millstream.console.remote import RemoteConsole  # slow, and only this command needs it

    teller, stop = Teller(Terminal(stderr=True, highlight=False, soft_wrap=True)), threading.Event()
    with ExitStack() as after:
        for number in (signal.SIGINT, signal.SIGTERM):
            after.callback(signal.signal, number, signal.signal(number, lambda *_: stop.set()))
        served = RemoteConsole(url, ServerSettings(port=port), ca)
        after.callback(served.close)
        served.start()
        teller.tell(f"the console of {url} is at {served.url}")
        if browse:
            webbrowser.open(served.url)
        stop.wait()
