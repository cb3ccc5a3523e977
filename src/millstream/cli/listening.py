"""How a command listens: the options, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from millstream.errors import ArgumentError
from millstream.server.settings import ServerSettings, Tls

Host = Annotated[str, typer.Option("--host", help="The address to listen on; 0.0.0.0 is all of this machine.")]
AdvertisedHost = Annotated[
    str | None, typer.Option("--advertised-host", help="The name under which other instances reach this machine.")
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file", envvar="MILLSTREAM_TOKEN_FILE", help="A file of tokens, one a line: requests must bring one."
    ),
]
UsersFile = Annotated[
    Path | None,
    typer.Option(
        "--users-file",
        help="A file of name:password, or name:password:readonly, one a line: requests must bring one, or a token.",
    ),
]
Certificate = Annotated[Path | None, typer.Option("--certificate", help="Serve over TLS with this certificate, PEM.")]
Key = Annotated[Path | None, typer.Option("--key-file", help="The certificate's private key, PEM.")]
Authorities = Annotated[
    Path | None,
    typer.Option(
        "--authorities",
        envvar="MILLSTREAM_AUTHORITIES",
        help="Certificates that other servers' must be signed by, PEM; the system's if not given.",
    ),
]

_READ_ONLY = ":readonly"


def read_tokens(file: Path | None) -> tuple[str, ...]:
    """The tokens of a file, one a line; empty lines and comments (#) are left out."""
    if file is None:
        return ()
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"the tokens cannot be read from {file}", detail=str(error)) from error
    tokens = tuple(line for line in lines if line and not line.startswith("#"))
    if not tokens:
        raise ArgumentError(f"there is no token in {file}", hint="write one a line: `openssl rand -hex 32` makes one")
    return tokens


class Users(NamedTuple):
    """Users with their passwords, and the names of those who may only look."""

    users: tuple[tuple[str, str], ...] = ()
    readers: tuple[str, ...] = ()


_NOBODY = Users()


def read_users(file: Path | None) -> Users:
    """The users of a file, `name:password` or `name:password:readonly` a line, without empty lines and comments (#)."""
    if file is None:
        return _NOBODY
    try:
        lines = [line.strip() for line in file.read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"the users cannot be read from {file}", detail=str(error)) from error
    found = [line.partition(":") for line in lines if line and not line.startswith("#")]
    if not found or not all(name and password for name, _, password in found):
        raise ArgumentError(f"{file} is no file of users", hint="write one a line: name:password")
    return Users(
        tuple((name, password.removesuffix(_READ_ONLY)) for name, _, password in found),
        tuple(name for name, _, password in found if password.endswith(_READ_ONLY)),
    )


def server_settings(
    host: str,
    port: int,
    advertised_host: str | None,
    token_file: Path | None,
    certificate: Path | None,
    key: Path | None,
    authorities: Path | None,
    users: Users = _NOBODY,
) -> ServerSettings:
    """What the options say."""
    if (certificate is None) != (key is None):
        raise ArgumentError("TLS needs a certificate and its key", hint="give --certificate and --key-file")
    tls = None if certificate is None or key is None else Tls(certificate, key, authorities=authorities)
    return ServerSettings(
        host=host,
        port=port,
        advertised_host=advertised_host,
        tokens=read_tokens(token_file),
        users=users.users,
        readers=users.readers,
        tls=tls,
    )
