"""`millstream topics produce` and `consume`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, TopicPartition

from millstream.cli.connection import PATIENCE, ClientOptions, Servers, connection
from millstream.cli.formats import Format, parse, show
from millstream.config import StreamsConfig
from millstream.kafka.admin import Admin
from millstream.kafka.clients import make_consumer, make_producer
from millstream.kafka.errors import KafkaError, translate

_POLL_SECONDS = 0.5
_FLUSH_SECONDS = 30.0

KeyFormat = Annotated[Format, typer.Option("--key", help="What keys are; bytes are in base64.")]
ValueFormat = Annotated[Format, typer.Option("--value", help="What values are.")]


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
    """Write records, `key:value` each. Without a separator it is a value without key; `key:` alone deletes the key."""
    config = connection(servers, client)
    Admin(config, timeout=PATIENCE).require_topics([topic])
    count = _send(config, topic, _pairs(records or sys.stdin, key, value, separator))
    typer.echo(f"{count} record{'' if count == 1 else 's'} written to {topic}", err=True)


def consume(
    topic: Annotated[str, typer.Argument()],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="What is there already, then stop.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes; Ctrl-C ends it.")] = False,
    most: Annotated[int | None, typer.Option("--max", "-n", min=1, help="Stop after so many records.")] = None,
    key: KeyFormat = Format.STRING,
    value: ValueFormat = Format.STRING,
    separator: Annotated[str, typer.Option(help="What is printed between key and value.")] = ":",
    servers: Servers = None,
    client: ClientOptions = None,
) -> None:
    """Print committed records, `key:value` each. Without --from-beginning it waits for new ones."""
    config = connection(servers, client)
    admin = Admin(config, timeout=PATIENCE)
    partitions = [(topic, number) for number in range(admin.require_topics([topic])[topic])]
    end = admin.end_offsets(partitions, committed=True)
    begin = admin.begin_offsets(partitions) if from_beginning else end
    stop_at = None if follow or not from_beginning else end
    count = 0
    try:
        for message in _read(config, begin, stop_at):
            typer.echo(f"{show(message.key(), key)}{separator}{show(message.value(), value)}")
            count += 1
            if count == most:
                break
    except KeyboardInterrupt:
        pass


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


def _read(
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
