"""A real schema registry: Apicurio, which speaks Confluent's protocol, in memory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tarfile
import time
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError

from millstream.directories import cache_directory
from millstream.jvm.java import find_java
from millstream.jvm.processes import HOST, OwnedProcess, free_port, tail

VERSION = "2.6.13.Final"
_NAME = f"apicurio-registry-app-{VERSION}"
_ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
_START_SECONDS = 120.0


def fetch_apicurio() -> Path:
    """The directory with its jars, fetched if they are not there yet.

    Raises:
        OSError: they cannot be fetched, with Maven's own client.
    """
    home = cache_directory() / _NAME
    if not home.exists():
        partial = home.with_name(f"{home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        command = ["mvn", "--batch-mode", "--quiet", "dependency:copy", f"-Dartifact={_ARTIFACT}"]
        done = subprocess.run(  # noqa: S603 - the arguments are ours
            [*command, f"-DoutputDirectory={partial}"], check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise OSError(done.stdout[-1000:])
        with tarfile.open(partial / f"{_NAME}-all.tar.gz") as jars:
            jars.extractall(partial, filter="data")
        partial.rename(home)
    return home


class Apicurio:
    """From `with` to its end.

    Args:
        directory: for its log.
        certificate: what it shows over TLS, with its key; it also answers without.
        key: see `certificate`.
    """

    def __init__(self, directory: Path, certificate: Path, key: Path) -> None:
        self._directory = directory
        self._port, self._tls_port = free_port(), free_port()
        self._environment = {
            "QUARKUS_HTTP_HOST": HOST,
            "QUARKUS_HTTP_PORT": str(self._port),
            "QUARKUS_HTTP_SSL_PORT": str(self._tls_port),
            "QUARKUS_HTTP_SSL_CERTIFICATE_FILES": str(certificate),
            "QUARKUS_HTTP_SSL_CERTIFICATE_KEY_FILES": str(key),
        }
        self._process: OwnedProcess | None = None

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self._port}/apis/ccompat/v7"

    @property
    def tls_url(self) -> str:
        return f"https://localhost:{self._tls_port}/apis/ccompat/v7"

    def __enter__(self) -> Self:
        jar = fetch_apicurio() / f"{_NAME}-runner.jar"
        command = [find_java(), "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(jar)]
        log = self._directory / "apicurio.log"
        self._process = OwnedProcess(
            command, {**os.environ, **self._environment}, self._directory, log, detached=False, temporary=False
        )
        end = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.exit_code is not None or time.monotonic() > end:
                raise AssertionError(tail(log))
            time.sleep(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end(signal.SIGTERM)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/subjects", timeout=5).close()  # noqa: S310 - its own
        except (URLError, OSError):
            return False
        return True
