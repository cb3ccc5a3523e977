"""How a command runs on Spark: the options and what they mean."""

from __future__ import annotations

from typing import Annotated

import typer

from millstream.cli.connection import settings

Master = Annotated[
    str | None,
    typer.Option(help="Spark's master: local[4], spark://host:7077, k8s://https://host:6443 or yarn"),
]
SparkOptions = Annotated[
    list[str] | None,
    typer.Option("--spark", metavar="NAME=VALUE", help="A property of Spark, such as spark.executor.memory=4g."),
]
PyFiles = Annotated[
    str | None,
    typer.Option(metavar="FILES", help="Python files and zips that executors can import, separated by commas."),
]
Archives = Annotated[
    str | None,
    typer.Option(
        metavar="FILES",
        help="Archives that executors unpack, separated by commas: env.tar.gz#environment, such as venv-pack makes.",
    ),
]


def spark_settings(
    master: str | None, given: list[str] | None, py_files: str | None, archives: str | None
) -> dict[str, str]:
    """Spark's properties, as the options say.

    >>> spark_settings("yarn", ["spark.executor.cores=4"], None, "env.tar.gz#environment")
    {'spark.yarn.dist.archives': 'env.tar.gz#environment', 'spark.executor.cores': '4'}

    Args:
        master: Spark's.
        given: properties, `name=value`.
        py_files: what executors are to import.
        archives: what they are to unpack.
    """
    found = {}
    if py_files is not None:
        found["spark.submit.pyFiles"] = py_files
    if archives is not None:  # YARN brings archives to machines itself
        found["spark.yarn.dist.archives" if master == "yarn" else "spark.archives"] = archives
    return found | settings("--spark", given)
