"""What Spark is told for each kind of master. Kubernetes and YARN cannot be run here: what counts is what they get."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from millstream import ArgumentError, StreamsConfig
from millstream.spark.startup import session
from millstream.spark.startup.masters import (
    LANE_BASE_BYTES,
    check_master,
    check_speculation,
    overhead_bytes,
    remote_defaults,
    size_bytes,
)

_MEGABYTE = 1024 * 1024
_IMAGE = {"spark.kubernetes.container.image": "registry/millstream:1"}


def settings(master: str, known: dict[str, str] | None = None, **options: Any) -> dict[str, str]:
    config = StreamsConfig(application_id="orders", **options)
    return session._settings(config, master, {**(known or {}), **{k: str(v) for k, v in config.spark.items()}}, None)


def test_on_this_machine_nobody_else_reaches_the_driver() -> None:
    found = settings("local[2]")
    assert found["spark.driver.host"] == "127.0.0.1"
    assert found["spark.master"] == f"local[{2 + session._SPARE_TASKS},4]"
    assert found["spark.default.parallelism"] == "2"
    assert found["spark.app.name"] == "orders"
    assert "spark.executor.memoryOverhead" not in found


def test_a_standalone_cluster_chooses_the_drivers_address() -> None:
    found = settings("spark://host:7077")
    assert found["spark.master"] == "spark://host:7077"
    assert "spark.driver.host" not in found
    assert found["spark.sql.adaptive.enabled"] == "false"


def test_in_batches_on_a_cluster_jvms_reach_their_python_workers_quickly() -> None:
    name = "spark.python.unix.domain.socket.enabled"
    assert settings("spark://host:7077", processing_mode="micro_batch")[name] == "true"
    assert settings("spark://host:7077", {name: "false"}, processing_mode="micro_batch")[name] == "false"
    assert name not in settings("yarn", processing_mode="micro_batch"), "its directories have long names"
    assert name not in settings("spark://host:7077")
    assert name not in settings("local[2]", processing_mode="micro_batch")


@pytest.mark.parametrize("said", ["spark.executor.extraJavaOptions", "spark.executor.defaultJavaOptions"])
def test_executors_with_options_of_their_own_get_no_second_collector(said: str) -> None:
    name = "spark.executor.extraJavaOptions"
    assert "UseSerialGC" in settings("spark://host:7077")[name]
    assert "UseSerialGC" not in settings("spark://host:7077", {said: "-XX:+UseG1GC"}).get(name, "")


@pytest.mark.parametrize("master", ["spark://host:7077", "yarn", "k8s://https://host:6443"])
def test_lanes_are_not_run_twice(master: str) -> None:
    with pytest.raises(ArgumentError, match=r"spark\.speculation is true"):
        check_speculation(master, {"spark.speculation": "true"})
    check_speculation(master, {"spark.speculation": "false"})
    check_speculation(master, {})
    check_speculation("local[2]", {"spark.speculation": "true"})  # Spark does not do it there


def test_kubernetes_gets_an_address_an_image_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "10.1.2.3")
    found = settings("k8s://https://host:6443", spark={**_IMAGE, "spark.executor.cores": 4})
    assert found["spark.kubernetes.container.image"] == "registry/millstream:1"
    assert found["spark.driver.bindAddress"] == "0.0.0.0"  # noqa: S104 - in a pod
    assert found["spark.driver.host"] == "10.1.2.3", "other pods do not know the name of this one"
    lanes = 4 * (LANE_BASE_BYTES // _MEGABYTE + 256 + 10)
    assert found["spark.executor.memoryOverhead"] == f"{lanes + 384}m"


def test_where_only_spark_can_find_out_the_drivers_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostbyname", lambda name: "127.0.1.1")
    assert "spark.driver.host" not in remote_defaults("k8s://host", StreamsConfig(), _IMAGE)


def test_what_was_said_about_the_driver_stays() -> None:
    said = {**_IMAGE, "spark.driver.host": "driver.default.svc", "spark.driver.bindAddress": "10.0.0.9"}
    found = remote_defaults("k8s://host", StreamsConfig(), said)
    assert found.keys() == {"spark.executor.memoryOverhead", "spark.executor.extraJavaOptions"}


def test_kubernetes_without_an_image_is_refused() -> None:
    with pytest.raises(ArgumentError, match="executors on Kubernetes need an image") as refused:
        settings("k8s://https://host:6443")
    assert "--spark spark.kubernetes.container.image=" in (refused.value.hint or "")


@pytest.mark.parametrize(
    "said",
    [
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.kubernetes.memoryOverheadFactor",
    ],
)
def test_what_users_say_of_memory_counts(said: str) -> None:
    """In the configuration, by spark-submit or in spark-defaults.conf."""
    found = settings("yarn", {said: "7"})
    assert found[said] == "7"
    assert [name for name in found if "emoryOverhead" in name or "pyspark.memory" in name] == [said]


def test_memory_is_that_of_all_lanes_of_an_executor() -> None:
    config = StreamsConfig(statestore_memory_max_bytes=0, statestore_cache_max_bytes=0)
    assert overhead_bytes(config, {}) == LANE_BASE_BYTES + 384 * _MEGABYTE
    more = overhead_bytes(config, {"spark.executor.cores": "8", "spark.executor.memory": "16g"})
    assert more == 8 * LANE_BASE_BYTES + int(size_bytes("16g") * 0.1)


def test_what_spark_was_told_elsewhere_wins_over_our_defaults() -> None:
    found = settings("local[3]", {"spark.ui.enabled": "true", "spark.app.name": "script.py"})
    assert (found["spark.ui.enabled"], found["spark.app.name"]) == ("true", "orders")
    assert settings("spark://host:1", spark={"spark.app.name": "mine"})["spark.app.name"] == "mine"


def test_masters_that_there_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    for master, what in [("sprak://host", "master cannot be"), ("yarn", "YARN cannot be found")]:
        with pytest.raises(ArgumentError, match=what):
            check_master(master)
    with pytest.raises(ArgumentError, match="master cannot be") as refused:
        check_master("sc://host:15002")
    assert "Spark Connect" in (refused.value.detail or "")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    for master in ("yarn", "local", "local[*]", "spark://a:1,b:2", "k8s://https://host:6443"):
        check_master(master)
    with pytest.raises(ArgumentError, match="is no size"):
        size_bytes("much")
