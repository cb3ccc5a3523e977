"""Manifests for Kubernetes: valid by its schemas, and of one piece with the command line and the image."""

from __future__ import annotations

import re
from typing import Any

import kubernetes_validate
import pytest
import yaml

from millstream.cli.loading import Application, load_application
from millstream.ksqldb.rest.app import OPEN_PATHS as SERVICE_PATHS
from millstream.server.views.app import OPEN_PATHS as VIEW_PATHS
from millstream.spark.startup.masters import check_master, remote_defaults

from .commands import DEPLOY, container, manifests, options

APPLICATION, SERVER = "Deployment/millstream-application", "Deployment/millstream-server"
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Application:
    """What `millstream run` makes of the file in the ConfigMap."""
    file = tmp_path_factory.mktemp("application") / "orders_of_kubernetes.py"
    file.write_text(manifests()["ConfigMap/millstream-application"]["data"]["app.py"])
    return load_application(str(file))


@pytest.mark.parametrize("name", sorted(manifests()))
def test_they_are_what_kubernetes_takes(name: str) -> None:
    kubernetes_validate.validate(manifests()[name], kubernetes_validate.latest_version(), strict=True)


def test_all_files_are_applied() -> None:
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
    assert {*listed, "kustomization.yaml"} == {file.name for file in (DEPLOY / "kubernetes").iterdir()}


@pytest.mark.parametrize(("name", "open_paths"), [(APPLICATION, VIEW_PATHS), (SERVER, SERVICE_PATHS)])
def test_probes_ask_what_is_answered_where_it_listens(name: str, open_paths: tuple[str, ...]) -> None:
    found = container(manifests()[name])
    given = options(found["args"])
    ports = {port["name"]: port["containerPort"] for port in found["ports"]}
    assert ports["http"] == given["port"]
    assert given["host"] == "0.0.0.0"  # noqa: S104 - in a pod
    assert {found[probe]["httpGet"]["port"] for probe in PROBES} == {"http"}
    assert {found[probe]["httpGet"]["path"] for probe in PROBES} <= set(open_paths)


def test_the_service_leads_to_the_server() -> None:
    service, server = manifests()["Service/millstream-server"], manifests()[SERVER]
    assert service["spec"]["selector"].items() <= server["spec"]["template"]["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    assert port["port"] == options(container(server)["args"])["port"]


def test_executors_get_what_they_need(application: Application) -> None:
    found = container(manifests()[APPLICATION])
    given = options(found["args"])
    check_master(given["master"])
    spark = dict(text.split("=", 1) for text in given["spark"])
    assert application.config is not None
    # Address, image and the like are said; memory is for Millstream to know.
    assert remote_defaults(given["master"], application.config, spark).keys() == {
        "spark.executor.memoryOverhead", "spark.executor.extraJavaOptions", "spark.driver.bindAddress",
    }  # fmt: skip
    # All that it knows is in Kafka: there is nothing that driver and executors would have to share.
    assert application.config.processing_mode == "continuous"
    assert (given["processing_mode"], given["checkpoint"]) == (None, None)


def test_the_application_is_one(application: Application) -> None:
    assert application.config is not None
    ports = {port["name"]: port["containerPort"] for port in container(manifests()[APPLICATION])["ports"]}
    assert application.config.metrics_port == ports["metrics"]
    assert application.topology.describe()


@pytest.mark.parametrize("name", [APPLICATION, SERVER])
def test_what_is_named_is_there(name: str) -> None:
    """Variables, ConfigMaps, keys of the Secret, accounts."""
    deployment, found = manifests()[name], container(manifests()[name])
    config = manifests()["ConfigMap/millstream"]["data"]
    defined = {variable["name"] for variable in found["env"]} | config.keys()
    assert set(re.findall(r"\$\((\w+)\)", " ".join(found["args"]))) <= defined
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    assert f"ServiceAccount/{pod.get('serviceAccountName', 'millstream-driver')}" in manifests()
    said = (DEPLOY / "kubernetes" / "kustomization.yaml").read_text()
    for volume in pod["volumes"]:
        for item in volume.get("secret", {}).get("items", ()):
            assert re.search(rf"^#   {item['key']} ", said, re.MULTILINE), f"{item['key']} of the Secret is not told of"
        if "configMap" in volume:
            assert f"ConfigMap/{volume['configMap']['name']}" in manifests()
    assert {mount["name"] for mount in found["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
