"""A checkpoint on S3, or on a store that speaks its protocol: one place and one set of settings for two clients.

Settings are those of Hadoop's client, as properties of Spark (`spark.hadoop.fs.s3a.*`), or AWS's environment variables.
Lanes use Arrow's client, which gets the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pyarrow import fs

from millstream.config import Setting

_PREFIX = "spark.hadoop.fs.s3a."
#: Where neither a setting nor the environment says it, and the store is not Amazon's: such stores take any.
_ANY_REGION = "us-east-1"


def is_s3(location: str) -> bool:
    """Whether a location is on S3, in either spelling."""
    return location.startswith(("s3://", "s3a://"))


def hadoop_url(location: str) -> str:
    """The location as Hadoop's client knows it.

    >>> hadoop_url("s3://bucket/orders")
    's3a://bucket/orders'
    """
    return f"s3a://{_path(location)}"


def filesystem(location: str, spark: Mapping[str, Setting]) -> tuple[fs.FileSystem, str]:
    """Arrow's file system for a location, and the path in it."""
    return _connected(_Settings.of(_bucket(location), spark)), _path(location)


def hadoop_properties(location: str, spark: Mapping[str, Setting]) -> dict[str, str]:
    """What Spark is told beside the properties that it is given, so that both clients go to the same place."""
    settings = _Settings.of(_bucket(location), spark)
    told = {
        "endpoint": settings.endpoint,
        "endpoint.region": settings.region,
        "path.style.access": None if settings.endpoint is None else str(settings.path_style).lower(),
    }
    return {f"{_PREFIX}bucket.{settings.bucket}.{name}": value for name, value in told.items() if value is not None}


@dataclass(frozen=True)
class _Settings:
    bucket: str
    access_key: str | None
    secret_key: str | None
    session_token: str | None
    endpoint: str | None
    region: str | None
    #: Whether the bucket is in the path of requests, not in the name of the host.
    path_style: bool
    encrypted: bool

    def __repr__(self) -> str:  # no keys in tracebacks
        return f"S3 bucket {self.bucket} at {self.endpoint or 'Amazon'}"

    @classmethod
    def of(cls, bucket: str, spark: Mapping[str, Setting]) -> _Settings:
        def given(name: str, *variables: str) -> str | None:
            names = (f"{_PREFIX}bucket.{bucket}.{name}", f"{_PREFIX}{name}")
            found = (*(spark.get(one) for one in names), *(os.environ.get(one) for one in variables))
            return next((str(value) for value in found if value), None)

        endpoint = given("endpoint", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        region = given("endpoint.region", "AWS_REGION", "AWS_DEFAULT_REGION")
        return cls(
            bucket,
            # Without keys both clients look for themselves: environment, the role of a container or of the machine.
            given("access.key"),
            given("secret.key"),
            given("session.token"),
            endpoint,
            region if region is not None or endpoint is None else _ANY_REGION,
            (given("path.style.access") or "true") == "true",
            (given("connection.ssl.enabled") or "true") == "true",
        )


@cache
def _connected(settings: _Settings) -> fs.S3FileSystem:
    """One client for all that a process does with a bucket."""
    host, scheme = settings.endpoint, "https" if settings.encrypted else "http"
    if host is not None and "://" in host:
        scheme, host = host.split("://", 1)
    return fs.S3FileSystem(
        access_key=settings.access_key,
        secret_key=settings.secret_key,
        session_token=settings.session_token,
        endpoint_override=host,
        scheme=scheme,
        region=settings.region or fs.resolve_s3_region(settings.bucket),
        force_virtual_addressing=not settings.path_style,
        allow_delayed_open=True,  # a small object is one request instead of three
    )


def _path(location: str) -> str:
    return location.split("://", 1)[1].rstrip("/")


def _bucket(location: str) -> str:
    return _path(location).split("/", 1)[0]
