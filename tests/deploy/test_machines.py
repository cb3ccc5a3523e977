"""Compose and systemd: of one piece with the command line."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pyspark
import pytest

from millstream.cli.connection import connection
from millstream.ksqldb.rest.app import OPEN_PATHS as SERVICE_PATHS
from millstream.server.views.app import OPEN_PATHS as VIEW_PATHS
from millstream.spark.startup.masters import check_master, cores_here

from .commands import DEPLOY, compose, options

UNIT = DEPLOY / "systemd" / "millstream@.service"
JARS = Path(pyspark.__file__).parent / "jars"


@pytest.mark.parametrize(("name", "open_paths"), [("server", SERVICE_PATHS), ("app", VIEW_PATHS)])
def test_services_of_compose_fit_together(name: str, open_paths: tuple[str, ...]) -> None:
    services = compose()
    service = services[name]
    given = options(service["command"])
    check_master(given["master"])
    assert cores_here(given["master"]) is None
    master = services["spark-master"]["command"]
    assert given["master"] == f"spark://{services['spark-master']['hostname']}:{master[master.index('--port') + 1]}"
    asked = re.search(r"http://localhost:(\d+)(/\w+)", service["healthcheck"]["test"][-1])
    assert asked is not None
    assert (int(asked[1]), asked[2] in open_paths) == (given["port"], True)
    # Executors reach the driver by the name of its service.
    assert f"spark.driver.host={service['hostname']}" in given["spark"]
    brokers = service["environment"]["MILLSTREAM_BOOTSTRAP_SERVERS"]
    assert connection(brokers, None).bootstrap_servers == brokers
    assert f"PLAINTEXT://{brokers}" in services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]


def test_cores_of_the_worker_are_enough_for_both() -> None:
    services = compose()
    worker = services["spark-worker"]["command"]
    wanted = 0
    for name in ("server", "app"):
        spark = dict(text.split("=", 1) for text in options(services[name]["command"])["spark"])
        wanted += int(spark["spark.cores.max"])
    assert wanted == int(worker[worker.index("--cores") + 1])


def test_driver_and_executors_need_no_place_that_they_share() -> None:
    """All that the application knows is in Kafka."""
    given = options(compose()["app"]["command"])
    assert (given["processing_mode"], given["checkpoint"]) == (None, None)


def test_each_service_says_how_it_is() -> None:
    assert [name for name, service in compose().items() if "healthcheck" not in service] == []


@pytest.mark.parametrize("service", ["spark-master", "spark-worker"])
def test_sparks_own_programs_are_there(service: str) -> None:
    program, name, *_ = compose()[service]["command"]
    assert program == "spark-class"
    (core,) = JARS.glob("spark-core_*.jar")
    with ZipFile(core) as opened:
        assert f"{name.replace('.', '/')}.class" in opened.namelist()


def test_the_unit_runs_an_application() -> None:
    (command,) = re.findall(r"^ExecStart=(.+)", UNIT.read_text(), re.MULTILINE)
    words = shlex.split(command)
    assert words.pop() == "$MILLSTREAM_OPTIONS"
    assert options(words)["exactly_once"] is True


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine has no systemd")
def test_the_unit_is_what_systemd_takes(tmp_path: Path) -> None:
    """But for its program, which is not on this machine."""
    unit = tmp_path / UNIT.name.replace("@", "@orders")
    unit.write_text(UNIT.read_text().replace("/opt/millstream/bin/millstream", "/bin/true"))
    said = subprocess.run(  # noqa: S603
        ["systemd-analyze", "verify", "--man=no", str(unit)],  # noqa: S607
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line for line in said.stderr.splitlines() if unit.name in line] == []
    assert said.returncode == 0, said.stderr
