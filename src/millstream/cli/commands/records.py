"""`millstream topics produce` and `consume`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, cast

import orjson
import typer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, TopicPartition

from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection
from millstream.cli.formats import Format, WindowKind, parse, shower
from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer, make_producer
from millstream.kafka.errors import KafkaError, translate

_POLL_SECONDS = 0.5
_FLUSH_SECONDS = 30.0

KeyFormat = Annotated[Format, typer.Option("--key", help="What keys are; bytes are in base64.")]
ValueFormat = Annotated[Format, typer.Option("--value", help="What values are.")]


class About(StrEnum):
    """What can be shown of a record besides its key and value."""

    TIMESTAMP = "timestamp"
    PARTITION = "partition"
    OFFSET = "offset"
    HEADERS = "headers"


def produce(
    topic: Annotated[str, typer.Argument()],
    records: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY:VALUE]...", help="Lines of the standard input if not given.")
    ] = None,
    key: KeyFormat = Format.STRING,
    value: ValueFormat = Format.STRING,
    separator: Annotated[str, typer.Option(help="What stands between key and value.")] = ":",
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Write records, each as `key:value`. Without a separator it is a value without a key; `key:` deletes the key."""
    config = connection(servers, client)
    Admin(config, timeout=PATIENCE).require_topics([topic])
    count = _send(config, topic, _pairs(records or sys.stdin, key, value, separator))
    typer.echo(f"{count} record{'' if count == 1 else 's'} written to {topic}", err=True)


def consume(
    topic: Annotated[str, typer.Argument()],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="What is there already, then stop.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new records; Ctrl-C ends it.")] = False,
    most: Annotated[int | None, typer.Option("--max", "-n", min=1, help="Stop after this many records.")] = None,
    key: KeyFormat = Format.STRING,
    value: ValueFormat = Format.STRING,
    separator: Annotated[str, typer.Option(help="What is printed between key and value.")] = ":",
    about: Annotated[
        list[About] | None,
        typer.Option("--show", help="What to print in front of the key; can be given several times."),
    ] = None,
    windowed: Annotated[WindowKind | None, typer.Option(help="Keys have windows behind them.")] = None,
    registry: Annotated[str | None, typer.Option("--schema-registry", help="Its URL, for avro.")] = None,
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Print committed records, each as `key:value`. Without --from-beginning it waits for new ones."""
    show_key, show_value = shower(key, windowed=windowed, registry=registry), shower(value, registry=registry)
    config = connection(servers, client)
    admin = Admin(config, timeout=PATIENCE)
    partitions = [(topic, number) for number in range(admin.require_topics([topic])[topic])]
    end = admin.end_offsets(partitions, committed=True)
    begin = admin.begin_offsets(partitions) if from_beginning else end
    stop_at = None if follow or not from_beginning else end
    count = 0
    try:
        for message in read(config, begin, stop_at):
            more = "".join(f"{part}={_shown(message, part)} " for part in about or ())
            typer.echo(f"{more}{show_key(message.key())}{separator}{show_value(message.value())}")
            count += 1
            if count == most:
                break
    except KeyboardInterrupt:
        pass


def _shown(message: Message, part: About) -> str:
    if part is About.PARTITION:
        return str(message.partition())
    if part is About.OFFSET:
        return str(message.offset())
    if part is About.TIMESTAMP:
        at = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    found = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    headers = [(name, None if value is None else value.decode(errors="replace")) for name, value in found]
    return orjson.dumps(headers).decode()  # pairs: a name may come twice


def _pairs(
    lines: Iterable[str], key: Format, value: Format, separator: str
) -> Iterator[tuple[bytes | None, bytes | None]]:
    for line in lines:
        line = line.rstrip("\r\n")
        if not line:
            continue
        before, found, after = line.partition(separator)
        if not found:
            yield None, parse(line, value)
        else:
            yield parse(before, key), parse(after, value) if after else None


def _send(config: StreamsConfig, topic: str, pairs: Iterable[tuple[bytes | None, bytes | None]]) -> int:
    producer = make_producer(config, overrides={"linger.ms": "5"})
    failed: list[ClientError] = []

    def delivered(error: ClientError | None, _: Any) -> None:
        if error is not None:
            failed.append(error)

    count = 0
    for key, value in pairs:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=delivered)
                break
            except BufferError:
                producer.poll(_POLL_SECONDS)
        producer.poll(0)
        count += 1
    left = producer.flush(_FLUSH_SECONDS)
    if failed:
        raise translate(failed[0], f"write to {topic}", config.bootstrap_servers)
    if left:
        raise KafkaError(f"cannot write to {topic}", detail=f"{left} records were not taken in {_FLUSH_SECONDS:.0f} s")
    return count


def read(
    config: StreamsConfig, begin: dict[tuple[str, int], int], stop_at: dict[tuple[str, int], int] | None
) -> Iterator[Message]:
    """The records from `begin` on, up to `stop_at` if it is given."""
    overrides = {"isolation.level": "read_committed", "enable.partition.eof": "true", "fetch.wait.max.ms": "100"}
    consumer = make_consumer(config, overrides=overrides)
    try:
        open_partitions = {at for at in begin if stop_at is None or begin[at] < stop_at[at]}
        consumer.assign([TopicPartition(*at, begin[at]) for at in open_partitions])
        while open_partitions:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            at = (message.topic() or "", message.partition() or 0)
            error = message.error()
            if error is None:
                if stop_at is None or (message.offset() or 0) < stop_at[at]:
                    yield message
            elif error.code() != ClientError._PARTITION_EOF:
                raise translate(error, f"read {at[0]}", config.bootstrap_servers)
            # The last offsets may be markers of transactions, which are no records: the position tells.
            if stop_at is not None and consumer.position([TopicPartition(*at)])[0].offset >= stop_at[at]:
                open_partitions.discard(at)
    finally:
        consumer.close()
