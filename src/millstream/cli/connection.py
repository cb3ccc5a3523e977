"""How a command reaches Kafka: the options and what they mean."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

import typer

from millstream.config import StreamsConfig
from millstream.errors import ArgumentError
from millstream.kafka.detached import find_detached

PATIENCE = timedelta(seconds=10)
"""How long a command waits for an answer."""

BROKER_PORT = 9092
"""Where the broker of `millstream broker` listens if nothing else is said."""

Servers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-servers",
        "-b",
        envvar="MILLSTREAM_BOOTSTRAP_SERVERS",
        help="Addresses of brokers, host:port; that of `millstream broker` if not given.",
    ),
]
ClientOptions = Annotated[
    list[str] | None,
    typer.Option("--client", "-c", metavar="NAME=VALUE", help="A client property, such as security.protocol=ssl."),
]


def connection(servers: str | None, client: list[str] | None) -> StreamsConfig:
    """A configuration for the clients of a command.

    Args:
        servers: addresses of brokers; None is the broker that `millstream broker start` started.
        client: client properties, `name=value`.
    """
    servers = servers or running_broker()
    logging.getLogger("millstream.kafka").setLevel(logging.ERROR)  # the command says itself what went wrong
    return StreamsConfig(
        application_id="millstream-cli", bootstrap_servers=servers, client=settings("--client", client)
    )


def reaching(config: StreamsConfig, servers: str | None, client: list[str] | None) -> StreamsConfig:
    """A user's configuration with what the command line says about Kafka.

    Args:
        config: the user's; its brokers count if the command line and the environment name none.
        servers: addresses of brokers; None, and none in the configuration: the one of `millstream broker start`.
        client: client properties, `name=value`; they win over the configuration's.
    """
    return replace(
        config,
        bootstrap_servers=servers or config.bootstrap_servers or running_broker(),
        client={**config.client, **settings("--client", client)},
    )


def running_broker() -> str:
    """The address of the broker that `millstream broker start` started."""
    found = find_detached()
    if found is None:
        raise ArgumentError(
            "no broker was given and none is running",
            hint="start one with `millstream broker start`, or give --bootstrap-servers host:port",
        )
    return found.bootstrap_servers


def settings(option: str, given: list[str] | None) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dict."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentError(f"{option} cannot be {text!r}", hint="write it as name=value")
        found[name.strip()] = value
    return found
