"""Settings of ksqlDB that say how Kafka Connect is reached."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from millstream.connect.access import ConnectAccess, CredentialsFile
from millstream.errors import ArgumentError

PREFIX = "ksql.connect."
_SSL = f"{PREFIX}ssl."
_CREDENTIALS = f"{PREFIX}basic.auth.credentials."


def connect_access(settings: Mapping[str, Any]) -> ConnectAccess:
    """What settings say about Kafka Connect.

    >>> connect_access({"ksql.connect.url": "http://connect:8083", "ksql.connect.request.timeout.ms": 100}).url
    'http://connect:8083'

    Args:
        settings: those that begin with `ksql.connect.`; others are left alone.

    Raises:
        ArgumentError: they cannot work.
    """
    java = [name for name in settings if name.startswith((f"{_SSL}truststore.", f"{_SSL}keystore."))]
    if java:
        raise ArgumentError(
            f"{java[0]} cannot be used: stores of Java's are nothing that Python reads",
            hint=f"give PEM files: {_SSL}ca.location, ssl.certificate.location and ssl.key.location",
        )
    known = ConnectAccess()
    milliseconds = settings.get(f"{PREFIX}request.timeout.ms")
    return ConnectAccess(
        str(settings.get(f"{PREFIX}url") or known.url),
        _credentials(settings),
        known.patience if milliseconds is None else timedelta(milliseconds=int(milliseconds)),
        authorities=_file(settings, "ca.location"),
        certificate=_file(settings, "certificate.location"),
        key=_file(settings, "key.location"),
        checks_name=str(settings.get(f"{_SSL}endpoint.identification.algorithm") or "https").lower() == "https",
    )


def _credentials(settings: Mapping[str, Any]) -> CredentialsFile | None:
    source = str(settings.get(f"{_CREDENTIALS}source") or "NONE").upper()
    if source == "NONE":
        return None
    if source != "FILE":
        raise ArgumentError(f"{_CREDENTIALS}source cannot be {source}", hint="give NONE or FILE")
    file = settings.get(f"{_CREDENTIALS}file")
    if not file:
        raise ArgumentError(f"{_CREDENTIALS}source is FILE, and no file is given", hint=f"set {_CREDENTIALS}file")
    return CredentialsFile(Path(file), reload=bool(settings.get(f"{_CREDENTIALS}reload")))


def _file(settings: Mapping[str, Any], name: str) -> Path | None:
    given = settings.get(_SSL + name)
    return Path(given) if given else None
