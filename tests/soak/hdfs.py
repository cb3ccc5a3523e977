"""A real HDFS on this machine: a name node and a data node of Hadoop's own, in one JVM.

Its jars are fetched with Maven. Arrow's client for it needs `libhdfs.so`, which is part of a Hadoop installation only.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from millstream.directories import cache_directory
from millstream.jvm.java import find_java
from millstream.jvm.processes import OwnedProcess, tail

_START_SECONDS = 180.0
_SOURCE = """
import java.nio.file.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

public class Hdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, arguments[0]);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).build();
        cluster.waitClusterUp();
        Path url = Path.of(arguments[1]), unfinished = Path.of(arguments[1] + ".tmp");
        Files.writeString(unfinished, cluster.getFileSystem().getUri().toString());
        Files.move(unfinished, url, StandardCopyOption.ATOMIC_MOVE);
        Thread.currentThread().join();
    }
}
"""
_POM = """
<project>
  <modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>hdfs</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.hadoop</groupId><artifactId>hadoop-client-minicluster</artifactId><version>VERSION</version>
  </dependency></dependencies>
</project>
"""


def libhdfs() -> Path | None:
    """The directory of Hadoop's native library, by the variables that Arrow heeds; None if there is none."""
    places = [Path(os.environ[name]) for name in ("ARROW_LIBHDFS_DIR",) if name in os.environ]
    if "HADOOP_HOME" in os.environ:
        places.append(Path(os.environ["HADOOP_HOME"], "lib", "native"))
    return next((place for place in places if (place / "libhdfs.so").exists()), None)


def fetch_hadoop() -> Path:
    """The directory with the jars, of the version that Spark has, fetched if they are not there yet.

    Raises:
        OSError: they cannot be fetched, with Maven's own client.
    """
    (client,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    home = cache_directory() / f"hadoop-minicluster-{version}"
    if not home.exists():
        partial = home.with_name(f"{home.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        (partial / "pom.xml").write_text(_POM.replace("VERSION", version))
        done = subprocess.run(
            ["mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies", "-DoutputDirectory=."],  # noqa: S607
            cwd=partial,
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise OSError(done.stdout[-1000:])
        partial.rename(home)
    return home


class Hdfs:
    """From `with` to its end.

    Args:
        directory: for its data and its log.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._jars = fetch_hadoop()
        self._process: OwnedProcess | None = None
        self.url = ""

    def environment(self, native: Path) -> dict[str, str]:
        """What processes need to go there by Arrow's client."""
        jars = ":".join(str(jar) for jar in sorted(self._jars.glob("*.jar")) if "minicluster" not in jar.name)
        java_home = Path(find_java()).resolve().parents[1]
        return {"CLASSPATH": jars, "ARROW_LIBHDFS_DIR": str(native), "JAVA_HOME": str(java_home)}

    def __enter__(self) -> Self:
        source, url, log = (self._directory / name for name in ("Hdfs.java", "url", "hdfs.log"))
        source.write_text(_SOURCE)
        command = [find_java(), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", f"{self._jars}/*", str(source)]
        command += [str(self._directory / "data"), str(url)]
        self._process = OwnedProcess(command, dict(os.environ), self._directory, log, detached=False, temporary=False)
        end = time.monotonic() + _START_SECONDS
        while not url.exists():
            if self._process.exit_code is not None or time.monotonic() > end:
                raise AssertionError(tail(log))
            time.sleep(0.1)
        self.url = url.read_text()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.end(signal.SIGTERM)
