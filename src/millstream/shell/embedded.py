"""A server in this process, for a shell that is given none."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from millstream.config import StreamsConfig
from millstream.ksqldb.server import KsqlServer
from millstream.server.settings import ServerSettings
from millstream.shell.client import Credentials, KsqlClient
from millstream.sql.functions.user import Source as UserFunctions


@contextmanager
def embedded_server(
    config: StreamsConfig, settings: Mapping[str, Any], functions: Iterable[UserFunctions] = ()
) -> Iterator[KsqlClient]:
    """A client of a server on a free loopback port. Only this process is answered: nobody else has the token.

    Args:
        config: where the brokers are, and how Spark runs.
        settings: ksqlDB's properties; `ksql.service.id` says which statements and queries it finds.
        functions: modules with user functions.
    """
    token = secrets.token_hex(32)
    server = KsqlServer(config, settings, ServerSettings(tokens=(token,)), functions=functions)
    try:
        server.start()
        yield KsqlClient(server.url, Credentials(token=token))
    finally:
        server.close()
