"""An S3 of our own: moto's server, a process on a free port."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
import uuid
from types import TracebackType

from pyarrow import fs

from millstream.jvm.processes import free_port

_PATIENCE_SECONDS = 60.0


class S3Server:
    """Runs while it is entered.

    Attributes:
        properties: of Spark, with which an application reaches it.
    """

    def __init__(self) -> None:
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.properties = {
            "spark.hadoop.fs.s3a.endpoint": self.endpoint,
            "spark.hadoop.fs.s3a.access.key": "who",
            "spark.hadoop.fs.s3a.secret.key": "key-that-nobody-is-to-see",
        }
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> S3Server:
        self._process = subprocess.Popen(  # noqa: S603 - the arguments are ours
            [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self._answers():
            assert self._process.poll() is None, "moto's server ended"
            assert time.monotonic() < deadline, "moto's server does not answer"
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(_PATIENCE_SECONDS)

    def new_bucket(self) -> str:
        """Make a bucket; answers its name."""
        name = f"b{uuid.uuid4().hex[:12]}"
        files = fs.S3FileSystem(
            access_key=self.properties["spark.hadoop.fs.s3a.access.key"],
            secret_key=self.properties["spark.hadoop.fs.s3a.secret.key"],
            endpoint_override=self.endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        files.create_dir(name)
        return name

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/moto-api/", timeout=5) as answer:  # noqa: S310 - it is ours
                return bool(answer.status == 200)
        except OSError:
            return False
