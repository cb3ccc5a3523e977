"""Topics are made, filled, read and deleted from the command line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from millstream.cli.formats import Format, WindowKind, parse, shower
from millstream.errors import SerdeError
from millstream.kafka.detached import DetachedBroker
from millstream.registry import InMemoryRegistry, RegisteredSchema, confluent
from millstream.registry.wire import prefix
from millstream.serdes import Serdes

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def _find_broker(broker: DetachedBroker, broker_state_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(broker_state_home))
    monkeypatch.setenv("COLUMNS", "200")


def test_create_list_delete(run: Run, make_topic: Callable[..., str], produce: Callable[..., None]) -> None:
    name = make_topic() + "-cli"
    assert run("topics", "create", name, "-p", "3", "--config", "cleanup.policy=compact") == (
        0,
        f"{name} created\n",
        "",
    )
    assert run("topics", "create", name, "-p", "3") == (0, f"{name} exists already\n", "")
    produce(name, [("a", "1"), ("b", "2")])
    code, output, _ = run("topics", "list")
    assert code == 0
    assert [line.split() for line in output.splitlines() if line.startswith(name)] == [[name, "3", "2"]]
    assert not any(line.startswith("__") for line in output.splitlines())
    assert run("topics", "delete", name) == (0, f"{name} deleted\n", "")
    code, output, errors = run("topics", "delete", name)
    assert (code, output) == (1, "")
    assert errors.startswith(f"error: missing topics {name}\n  detail: ")


def test_produce_and_consume(run: Run, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    assert run("topics", "consume", topic, "--from-beginning") == (0, "", "")
    assert run("topics", "produce", topic, "a:1", "b:2:3", "only", "a:")[0] == 0
    everything = "a:1\nb:2:3\nnull:only\na:null\n"
    assert run("topics", "consume", topic, "--from-beginning") == (0, everything, "")
    assert run("topics", "consume", topic, "--from-beginning", "--max", "1") == (0, "a:1\n", "")
    follow = run("topics", "consume", topic, "--from-beginning", "--follow", "--max", "4", "--separator", " = ")
    assert follow == (0, "a = 1\nb = 2:3\nnull = only\na = null\n", "")


def test_lines_and_formats(
    run: Run, make_topic: Callable[..., str], consume: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = make_topic()
    monkeypatch.setattr("sys.stdin", io.StringIO('7|{"amount": 1.5}\n\n8|[1,2]\r\n'))
    code, _, errors = run("topics", "produce", topic, "--key", "long", "--value", "json", "--separator", "|")
    assert (code, errors) == (0, f"2 records written to {topic}\n")
    assert [record.key() for record in consume(topic)] == [Serdes.long.serialize(7), Serdes.long.serialize(8)]
    options = ("--from-beginning", "--key", "long", "--value", "json")
    assert run("topics", "consume", topic, *options) == (0, '7:{"amount":1.5}\n8:[1,2]\n', "")
    code, output, _ = run("topics", "consume", topic, "--from-beginning", "--key", "bytes", "--max", "1")
    assert output == 'AAAAAAAAAAc=:{"amount":1.5}\n'
    code, _, errors = run("topics", "consume", topic, "--from-beginning", "--value", "long")
    assert code == 1
    assert "is no long" in errors
    code, _, errors = run("topics", "produce", topic, "x:1", "--key", "long")
    assert code == 1
    assert errors.startswith("error: 'x' is no long\n")


def test_an_aborted_transaction_is_not_shown(run: Run, broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"no", b"a")
    producer.flush(30)
    producer.abort_transaction(30)
    run("topics", "produce", topic, "a:yes")
    assert run("topics", "consume", topic, "--from-beginning") == (0, "a:yes\n", "")
    listed = [line.split() for line in run("topics", "list")[1].splitlines() if line.startswith(topic)]
    assert listed == [[topic, "1", "1"]]  # three offsets: an aborted record, its marker, and this


def test_large_topics_are_not_counted(
    run: Run, make_topic: Callable[..., str], produce: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millstream.cli.commands.topics._COUNTED", 3)
    topic = make_topic()
    produce(topic, [("a", "1")] * 4)
    listed = [line.split() for line in run("topics", "list")[1].splitlines() if line.startswith(topic)]
    assert listed == [[topic, "1", "<=", "4"]]


def test_more_of_a_record(run: Run, broker: DetachedBroker, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for start in (60_000, 120_000):
        key = Serdes.string.serialize("ann") + Serdes.long.serialize(start)
        headers: list[tuple[str, str | bytes | None]] = [("from", b"shop"), ("from", b"web"), ("none", None)]
        producer.produce(topic, Serdes.long.serialize(3), key, headers=headers, timestamp=start + 5)
    producer.flush(30)
    options = ("--from-beginning", "--windowed", "time", "--value", "long")
    assert run("topics", "consume", topic, *options) == (0, "[ann@60000]:3\n[ann@120000]:3\n", "")
    more = ("--show", "timestamp", "--show", "partition", "--show", "offset", "--show", "headers", "--max", "1")
    assert run("topics", "consume", topic, *options, *more)[1] == (
        "timestamp=1970-01-01T00:01:00.005Z partition=0 offset=0 "
        'headers=[["from","shop"],["from","web"],["none",null]] [ann@60000]:3\n'
    )


def test_sessions_and_other_numbers() -> None:
    key = Serdes.string.serialize("ann") + Serdes.long.serialize(9) + Serdes.long.serialize(7)
    show = shower(Format.STRING, windowed=WindowKind.SESSION)
    assert show(key) == "[ann@7/9]"
    with pytest.raises(SerdeError, match="is no string in a session window"):
        show(b"ann")
    assert shower(Format.SHORT)(Serdes.short.serialize(-2)) == "-2"
    assert shower(Format.FLOAT)(Serdes.float.serialize(0.5)) == "0.5"


def test_avro(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '{"type": "record", "name": "R", "fields": [{"name": "N", "type": "int"}]}'
    known = InMemoryRegistry()
    number = known.register("t-value", RegisteredSchema("AVRO", text))
    monkeypatch.setattr(confluent, "ConfluentRegistry", lambda url: known)
    show = shower(Format.AVRO, registry="http://host:8081")
    assert show(prefix(number) + bytes([14])) == '{"N": 7}'
    with pytest.raises(SerdeError, match="is no avro"):
        show(b"plain")
    with pytest.raises(SerdeError, match="is no avro"):
        show(prefix(99) + bytes([14]))
    code, _, errors = run("topics", "consume", "t", "--value", "avro")
    assert (code, "give --schema-registry" in errors) == (1, True)
    with pytest.raises(SerdeError, match="can be read, not written"):
        parse("1", Format.AVRO)


def test_wrong_calls(run: Run) -> None:
    code, _, errors = run("topics", "produce", "no-such-topic", "a:1")
    assert code == 1
    assert "error: missing topics no-such-topic" in errors
    assert "hint:" in errors
    code, _, errors = run("topics", "create", "x", "--config", "cleanup.policy")
    assert (code, "name=value" in errors) == (1, True)
    code, _, errors = run("topics", "list", "-c", "fetch.min.bites=1")
    assert (code, "fetch.min.bites" in errors) == (1, True)
    assert run("topics", "produce")[0] == 2


def test_no_broker(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, errors = run("topics", "list")
    assert code == 1
    assert errors.startswith("error: no broker was given and none is running\n  hint:   start one with")
