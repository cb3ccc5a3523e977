"""`millstream prepare`: what makes later starts quick."""

from __future__ import annotations

import typer
from rich.console import Console

from millstream.connect.jars import connect_jars
from millstream.kafka.jars import kafka_jars
from millstream.spark.startup import class_archive


def prepare() -> None:
    """Fetch the jars of the broker and of Kafka Connect, and have Spark start in half the time from now on.

    All of it is kept in your cache directory, about 300 MB. It is done once, for instance when an image is built.
    """
    kafka_jars()
    connect_jars()
    archive = class_archive.archive_path()
    if not archive.exists():
        with Console(stderr=True).status("making an archive of Spark's classes, which takes half a minute"):
            class_archive.make()
    typer.echo(f"ready: {archive}")
