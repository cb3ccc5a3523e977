"""`millstream describe`: what a topology is made of."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from millstream.cli.loading import load_application
from millstream.errors import ArgumentError


def describe(
    app: Annotated[str, typer.Argument(metavar="APP", help="app.py or package.module, and if need be :name.")],
    mermaid: Annotated[bool, typer.Option("--mermaid", help="Print a Mermaid diagram.")] = False,
    svg: Annotated[Path | None, typer.Option(dir_okay=False, help="Write a picture to this file.")] = None,
    html: Annotated[Path | None, typer.Option(dir_okay=False, help="Write a page to this file.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page or the picture in a browser.")] = False,
) -> None:
    """Describe a topology as Kafka Streams does, or draw it."""
    application = load_application(app)
    topology = application.topology
    if show and html is None and svg is None:
        html = Path(tempfile.mkdtemp(prefix="millstream-"), f"{application.name}.html")
    try:
        if svg is not None:
            topology.to_svg(svg)
        if html is not None:
            topology.to_html(html, title=application.name)
    except OSError as error:
        raise ArgumentError(f"{error.filename} cannot be written", detail=error.strerror) from error
    if mermaid:
        typer.echo(topology.to_mermaid())
    elif html is None and svg is None:
        typer.echo(str(topology.describe()).rstrip())
    for file in (html, svg):
        if file is not None:
            typer.echo(f"{file} written", err=True)
    if show:
        webbrowser.open(Path(html or svg or "").resolve().as_uri())
