"""The column that holds the time of records."""

from __future__ import annotations

from millstream.sql.errors import SqlError
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import TimestampColumn
from millstream.sql.schema.types import BaseType, quote


def check_timestamp_column(schema: Schema, timestamp: TimestampColumn | None) -> None:
    """See that the column of TIMESTAMP is there and holds times.

    Raises:
        SqlError: it does not, or TIMESTAMP_FORMAT is missing or superfluous.
    """
    if timestamp is None:
        return
    column = schema.find(timestamp.name)
    if column is None:
        raise SqlError(f"The TIMESTAMP column set in the WITH clause does not exist in the schema: '{timestamp.name}'")
    if column.type.base is BaseType.STRING:
        if timestamp.format is None:
            raise SqlError("A String timestamp field has been specified without also specifying the timestamp_format")
        return
    if timestamp.format is not None:
        raise SqlError(
            "'TIMESTAMP_FORMAT' set in the WITH clause can only be used when the timestamp column in of type STRING."
        )
    if column.type.base not in (BaseType.BIGINT, BaseType.TIMESTAMP):
        raise SqlError(
            f"Timestamp column, {quote(timestamp.name)}, should be LONG(INT64), TIMESTAMP, or a String with a "
            "timestamp_format specified"
        )
