"""Settings of ksqlDB about Kafka Connect."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millstream.connect.access import ConnectAccess, CredentialsFile
from millstream.connect.settings import connect_access
from millstream.errors import ArgumentError
from millstream.sql.settings import Settings


def test_defaults_are_ksqldbs() -> None:
    assert connect_access(Settings()) == ConnectAccess("http://localhost:8083", patience=timedelta(seconds=5))


def test_all_of_them() -> None:
    settings = Settings(
        {
            "ksql.connect.url": "https://connect:8083/eu",
            "ksql.connect.request.timeout.ms": "250",
            "ksql.connect.basic.auth.credentials.source": "FILE",
            "ksql.connect.basic.auth.credentials.file": "/run/credentials",
            "ksql.connect.basic.auth.credentials.reload": "true",
            "ksql.connect.ssl.ca.location": "/run/ca.pem",
            "ksql.connect.ssl.certificate.location": "/run/own.pem",
            "ksql.connect.ssl.key.location": "/run/key.pem",
            "ksql.connect.ssl.endpoint.identification.algorithm": "none",
        }
    )
    assert connect_access(settings) == ConnectAccess(
        "https://connect:8083/eu",
        CredentialsFile(Path("/run/credentials"), reload=True),
        timedelta(milliseconds=250),
        Path("/run/ca.pem"),
        Path("/run/own.pem"),
        Path("/run/key.pem"),
        checks_name=False,
    )


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"ksql.connect.url": "connect:8083"}, "no address"),
        ({"ksql.connect.basic.auth.credentials.source": "USER"}, "cannot be USER"),
        ({"ksql.connect.basic.auth.credentials.source": "FILE"}, "no file is given"),
        ({"ksql.connect.ssl.truststore.location": "/run/trust.jks"}, "stores of Java's"),
    ],
)
def test_what_cannot_work(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        connect_access(Settings(settings))
