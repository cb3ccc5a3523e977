"""All formats, by name."""

from __future__ import annotations

from millstream.sql.errors import SqlError
from millstream.sql.formats.avro.avro_format import AvroFormat
from millstream.sql.formats.delimited import DelimitedFormat
from millstream.sql.formats.format import Format
from millstream.sql.formats.json.json_format import JsonFormat
from millstream.sql.formats.json_sr.json_sr_format import JsonSrFormat
from millstream.sql.formats.kafka import KafkaFormat
from millstream.sql.formats.none import NoneFormat
from millstream.sql.formats.protobuf.protobuf_format import ProtobufFormat, ProtobufNoSrFormat

FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        JsonFormat(),
        KafkaFormat(),
        DelimitedFormat(),
        NoneFormat(),
        AvroFormat(),
        JsonSrFormat(),
        ProtobufFormat(),
        ProtobufNoSrFormat(),
    )
}


def format_of(name: str) -> Format:
    """A format by its name, in any case.

    Raises:
        SqlError: there is no such format.

    >>> format_of("json").name
    'JSON'
    """
    found = FORMATS.get(name.upper())
    if found is None:
        raise SqlError(f"Unknown format: {name.upper()}")
    return found
