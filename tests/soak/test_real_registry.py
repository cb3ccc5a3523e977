"""Serdes with a real schema registry, beside clients that others have written."""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from tests.certificates import make_certificate

from millstream import Serdes
from millstream.errors import RegistryError
from millstream.registry import SchemaReference

from .apicurio import Apicurio, fetch_apicurio

NODE_CLIENT = "@kafkajs/confluent-schema-registry@3.3.0"
PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order {\n  string region = 1;\n  int32 amount = 2;\n}\n'
VALUE: dict[str, Any] = {"region": "eu", "amount": 5}


@dataclasses.dataclass(frozen=True)
class Order:
    region: str
    amount: int = 1


#: Later versions of it, of the same name.
LaterOrder: Any = dataclasses.make_dataclass(
    "Order", [("region", str), ("amount", int, 1), ("note", str | None, None)], frozen=True
)
OtherOrder: Any = dataclasses.make_dataclass("Order", [("region", int)], frozen=True)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path]) -> Iterator[Apicurio]:
    try:
        fetch_apicurio()
    except OSError as error:
        pytest.skip(f"Apicurio cannot be fetched: {error}")
    with Apicurio(tmp_path_factory.mktemp("apicurio"), *certificate) as found:
        yield found


@pytest.fixture
def client(registry: Apicurio) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.url}) as found:
        yield found


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


def serdes(url: str, topic: str) -> dict[str, Any]:
    made = {
        "avro": Serdes.avro(Order, registry=url),
        "json": Serdes.json_schema(Order, registry=url),
        "protobuf": Serdes.protobuf(schema=PROTO, message="shop.Order", registry=url),
    }
    return {name: serde.for_topic(f"{topic}-{name}", False) for name, serde in made.items()}


@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
def test_round_trips(registry: Apicurio, client: SchemaRegistryClient, topic: str, kind: str) -> None:
    value: Any = VALUE if kind == "protobuf" else Order(**VALUE)
    data = serdes(registry.url, topic)[kind].serialize(value)
    again = serdes(f"{registry.url}/", topic)[kind]  # another client, which knows no schema yet
    assert again.deserialize(data) == value
    assert again.serialize(value) == data
    assert client.get_versions(f"{topic}-{kind}-value") == [1]


def test_schemas_grow_and_are_refused(registry: Apicurio, client: SchemaRegistryClient, topic: str) -> None:
    first = Serdes.avro(Order, registry=registry.url).for_topic(topic, False)
    data = first.serialize(Order("eu"))
    client.set_compatibility(f"{topic}-value", "BACKWARD")
    later = Serdes.avro(LaterOrder, registry=registry.url).for_topic(topic, False)
    newer = later.serialize(LaterOrder("us", 2, "x"))
    assert later.deserialize(data) == LaterOrder("eu")
    assert first.deserialize(newer) == Order("us", 2)
    other = Serdes.avro(OtherOrder, registry=registry.url).for_topic(topic, False)
    with pytest.raises(RegistryError, match="has earlier schemas that the new one is incompatible with"):
        other.serialize(OtherOrder(1))


def test_references(registry: Apicurio, topic: str) -> None:
    place = {"type": "record", "name": "Place", "namespace": topic, "fields": [{"name": "x", "type": "int"}]}
    trip = {"type": "record", "name": "Trip", "namespace": topic, "fields": [{"name": "to", "type": f"{topic}.Place"}]}
    Serdes.avro(schema=json.dumps(place), registry=registry.url).for_topic(f"{topic}-place", False).serialize({"x": 1})
    references = [SchemaReference(f"{topic}.Place", f"{topic}-place-value", 1)]
    given = Serdes.avro(schema=json.dumps(trip), references=references, registry=registry.url).for_topic(topic, False)
    data = given.serialize({"to": {"x": 7}})
    assert Serdes.avro(registry=registry.url).for_topic(topic, False).deserialize(data) == {"to": {"x": 7}}


def test_the_official_client_reads_and_writes_the_same(
    registry: Apicurio, client: SchemaRegistryClient, topic: str
) -> None:
    serde = Serdes.avro(Order, registry=registry.url).for_topic(topic, False)
    data = serde.serialize(Order(**VALUE))
    context = SerializationContext(topic, MessageField.VALUE)
    assert AvroDeserializer(client)(data, context) == VALUE
    text = client.get_latest_version(f"{topic}-value").schema.schema_str
    assert AvroSerializer(client, text)(VALUE, context) == data


def test_over_tls(registry: Apicurio, certificate: tuple[Path, Path], topic: str) -> None:
    settings = {"schema.registry.url": registry.tls_url, "schema.registry.ssl.ca.location": str(certificate[0])}
    trusting = Serdes.avro(Order).configured(settings).for_topic(topic, False)
    assert trusting.deserialize(trusting.serialize(Order("eu"))) == Order("eu")
    wary = Serdes.avro(Order, registry={"url": registry.tls_url, "max.retries": "0"}).for_topic(topic, False)
    with pytest.raises(RegistryError, match="does not answer") as refused:
        wary.serialize(Order("eu"))
    assert "CERTIFICATE_VERIFY_FAILED" in str(refused.value)


_NODE = """
const { SchemaRegistry } = require('@kafkajs/confluent-schema-registry')
const [host, ...messages] = process.argv.slice(2)
async function main() {
  const registry = new SchemaRegistry({ host })
  const said = []
  for (const message of messages) {
    const data = Buffer.from(message, 'base64')
    const value = await registry.decode(data)
    const again = await registry.encode(data.readInt32BE(1), value)
    said.push({ value, again: again.toString('base64') })
  }
  console.log(JSON.stringify(said))
}
main().catch(error => { console.error(error); process.exit(1) })
"""


def test_a_client_in_javascript_reads_and_writes_the_same(registry: Apicurio, topic: str, tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("there is no Node.js here")
    install = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(tmp_path), NODE_CLIENT]
    installed = subprocess.run(install, capture_output=True, text=True, timeout=180, check=False)  # noqa: S603 - ours
    if installed.returncode != 0:
        pytest.skip(f"{NODE_CLIENT} cannot be installed: {installed.stderr.strip()[-200:]}")
    script = tmp_path / "drive.js"
    script.write_text(_NODE)
    ours = serdes(registry.url, topic)
    values: dict[str, Any] = {"avro": Order(**VALUE), "json": Order(**VALUE), "protobuf": VALUE}
    written = [base64.b64encode(ours[name].serialize(value) or b"").decode() for name, value in values.items()]
    command = [node, str(script), registry.url, *written]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - ours
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert [one["value"] for one in said] == [VALUE] * 3
    # Of protobuf it writes no message's place, which Confluent's format has; it can only be read there.
    for name, one in zip(("avro", "json"), said[:2], strict=True):
        assert ours[name].deserialize(base64.b64decode(one["again"])) == values[name]
