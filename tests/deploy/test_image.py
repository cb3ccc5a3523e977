"""The image and what starts in it, as far as it can be looked at without Docker."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from .commands import DEPLOY, manifests, options

REPOSITORY = DEPLOY.parent
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
JARS = Path(pyspark.__file__).parent / "jars"


def test_python_and_java_are_such_as_millstream_runs_on() -> None:
    versions = set(re.findall(r"^FROM python:([\d.]+)-slim", DOCKERFILE, re.MULTILINE))
    assert len(versions) == 1
    assert versions.pop() in SpecifierSet(PROJECT["requires-python"])
    assert "openjdk-17-jre-headless" in DOCKERFILE


def test_what_is_copied_is_there_and_not_ignored() -> None:
    taken = set()
    for line in re.findall(r"^COPY (?!--from)(.+)", DOCKERFILE, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (REPOSITORY / source).exists(), source
            taken.add(f"!{source}")
    assert taken == {line for line in (REPOSITORY / ".dockerignore").read_text().splitlines() if line.startswith("!")}


def test_the_versions_are_those_of_the_lock_file(tmp_path: Path) -> None:
    script = re.search(r"^RUN (sed .*) > ", DOCKERFILE, re.MULTILINE)
    assert script is not None
    made = subprocess.run(["/bin/sh", "-c", script[1]], cwd=REPOSITORY, capture_output=True, text=True, check=True)  # noqa: S603
    pinned = {canonicalize_name(Requirement(line).name) for line in made.stdout.splitlines()}
    assert not any(Requirement(line).extras for line in made.stdout.splitlines())
    assert {canonicalize_name(Requirement(each).name) for each in PROJECT["dependencies"]} <= pinned


def test_nobody_is_root() -> None:
    (user,) = re.findall(r"^USER (\d+)", DOCKERFILE, re.MULTILINE)
    assert f"--uid {user} " in DOCKERFILE
    pod = manifests()["Deployment/millstream-application"]["spec"]["template"]["spec"]
    assert pod["securityContext"] == {"runAsNonRoot": True, "fsGroup": int(user)}


def test_the_default_port_of_a_server_is_exposed() -> None:
    (ports,) = re.findall(r"^EXPOSE (.+)", DOCKERFILE, re.MULTILINE)
    assert str(options(["millstream", "server"])["port"]) in ports.split()


def test_commands_are_there() -> None:
    for name in re.findall(r"millstream (\w+)(?= &&)", DOCKERFILE):
        options(["millstream", name])
    scripts = {"millstream"} & PROJECT["scripts"].keys()
    (command,) = re.findall(r'^CMD \["(\w+)"', DOCKERFILE, re.MULTILINE)
    assert command in scripts


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    """Stand-ins of java and of Spark's scripts, which say how they were called."""
    for name in ("java", "spark-home/bin/spark-submit"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        file.chmod(0o755)
    return tmp_path


def run(spark: Path, *arguments: str, **environment: str) -> list[str]:
    settings = {"PATH": f"{spark}:{os.environ['PATH']}", "MILLSTREAM_SPARK": str(spark / "spark-home"), **environment}
    command = [str(DEPLOY / "entrypoint.sh"), *arguments]
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603


def test_an_executor_on_kubernetes(spark: Path) -> None:
    told = run(
        spark,
        "executor",
        SPARK_JAVA_OPT_0="--add-opens=java.base/java.lang=ALL-UNNAMED",
        SPARK_JAVA_OPT_1="-Dspark.driver.port=7078",
        SPARK_EXECUTOR_MEMORY="1024m",
        SPARK_DRIVER_URL="spark://driver:7078",
        SPARK_EXECUTOR_ID="3",
        SPARK_EXECUTOR_CORES="2",
        SPARK_APPLICATION_ID="spark-1",
        SPARK_EXECUTOR_POD_IP="10.0.0.3",
        SPARK_EXECUTOR_POD_NAME="orders-exec-3",
        SPARK_RESOURCE_PROFILE_ID="0",
        SPARK_CONF_DIR="/opt/spark/conf",
    )
    assert told[:4] == [
        "--add-opens=java.base/java.lang=ALL-UNNAMED", "-Dspark.driver.port=7078", "-Xms1024m", "-Xmx1024m",
    ]  # fmt: skip
    assert told[4:6] == ["-cp", f"/opt/spark/conf:{spark}/spark-home/jars/*"]
    given = dict(zip(told[7::2], told[8::2], strict=True))
    assert given["--driver-url"] == "spark://driver:7078"
    assert given["--hostname"] == given["--bind-address"] == "10.0.0.3"
    assert given.keys() == {
        "--driver-url", "--executor-id", "--cores", "--app-id", "--hostname", "--bind-address", "--resourceProfileId",
        "--podName",
    }  # fmt: skip
    # Spark's own names for all of it.
    kubernetes = _content("spark-kubernetes", told[6].replace(".", "/") + "$.class")
    assert all(option.encode() in kubernetes for option in given)
    constants = _content("spark-kubernetes", "org/apache/spark/deploy/k8s/Constants$.class")
    read = set(re.findall(r"\$\{?(SPARK_\w+)", (DEPLOY / "entrypoint.sh").read_text()))
    assert len(read) == 10
    assert not [name for name in read if name.encode() not in constants]


def test_a_driver_in_sparks_cluster_mode(spark: Path) -> None:
    told = run(spark, "driver", "--class", "PythonRunner", "app.py", SPARK_DRIVER_BIND_ADDRESS="10.0.0.2")
    assert told == [
        "--deploy-mode", "client", "--conf", "spark.driver.bindAddress=10.0.0.2", "--class", "PythonRunner", "app.py",
    ]  # fmt: skip


def test_all_else_is_a_command(spark: Path) -> None:
    assert run(spark, "java", "a b", "c") == ["a b", "c"]


def _content(jar: str, name: str) -> bytes:
    (file,) = JARS.glob(f"{jar}_*.jar")
    with ZipFile(file) as opened:
        return opened.read(name)
