"""The registry of Confluent, against a small server that speaks its language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from tests.certificates import make_certificate
from tests.conftest import serving
from tests.registry_server import RegistryServer

from millstream.errors import RegistryError
from millstream.registry import RegisteredSchema, SchemaReference
from millstream.registry.confluent import ConfluentRegistry


@pytest.fixture
def confluent(schema_registry: Any) -> ConfluentRegistry:
    return ConfluentRegistry(schema_registry.url, {"max.retries": 0})


def test_schemas_go_in_and_come_out(confluent: ConfluentRegistry) -> None:
    assert confluent.latest("t-value") is None
    assert confluent.by_id(1) is None
    references = (SchemaReference("a.proto", "a", 1),)
    schema = RegisteredSchema("PROTOBUF", 'syntax = "proto3";', references)
    assert confluent.register("t-value", schema) == 1
    registered = RegisteredSchema("PROTOBUF", 'syntax = "proto3";', references, 1)
    assert confluent.latest("t-value") == registered
    assert confluent.by_id(1) == registered
    assert confluent.version("t-value", 1) == registered
    assert confluent.version("t-value", 2) is None


def test_the_newest_schema_is_not_remembered(confluent: ConfluentRegistry, schema_registry: Any) -> None:
    schema_registry.registry.register("t", RegisteredSchema("AVRO", '"int"'))
    assert confluent.latest("t") == RegisteredSchema("AVRO", '"int"', (), 1)
    schema_registry.registry.register("t", RegisteredSchema("AVRO", '"long"'))
    assert confluent.latest("t") == RegisteredSchema("AVRO", '"long"', (), 2)


def test_a_refused_schema(confluent: ConfluentRegistry) -> None:
    with pytest.raises(RegistryError, match="refuses the schema for subject 't'"):
        confluent.register("t", RegisteredSchema("AVRO", '"bad"'))


def test_a_schema_is_taken_back_and_can_come_again(confluent: ConfluentRegistry, schema_registry: Any) -> None:
    schema = RegisteredSchema("AVRO", '"int"')
    number = confluent.register("t", schema)
    confluent.withdraw("t", number + 1)
    assert schema_registry.registry.latest("t") is not None
    confluent.withdraw("t", number)
    assert schema_registry.registry.latest("t") is None
    confluent.withdraw("t", number)
    assert confluent.register("t", schema) == number
    assert schema_registry.registry.latest("t") is not None


def test_it_can_be_sent_to_other_processes(confluent: ConfluentRegistry) -> None:
    confluent.register("t", RegisteredSchema("AVRO", '"int"'))
    copy = cloudpickle.loads(cloudpickle.dumps(confluent))
    assert copy.latest("t") == confluent.latest("t")


def test_a_registry_that_is_not_there() -> None:
    nowhere = ConfluentRegistry("http://127.0.0.1:1", {"max.retries": 0})
    with pytest.raises(RegistryError, match="the schema registry does not answer, asked for schema 1"):
        nowhere.by_id(1)


def test_over_tls(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    server = RegistryServer()
    url = f"https://localhost:{server.server_port}"
    with serving(server, (certificate, key)):
        trusting = ConfluentRegistry(url, {"ssl.ca.location": str(certificate), "max.retries": 0})
        assert trusting.register("t", RegisteredSchema("AVRO", '"int"')) == 1
        with pytest.raises(RegistryError, match="CERTIFICATE_VERIFY_FAILED"):
            ConfluentRegistry(url, {"max.retries": 0}).by_id(1)
