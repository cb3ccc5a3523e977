"""Which features an encoding gets: whether single columns are written bare."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.sql.errors import SqlError
from millstream.sql.formats.catalogue import format_of
from millstream.sql.schema.formats import Encoding, Feature, FormatInfo
from millstream.sql.schema.types import SqlType

_NOTHING: frozenset[Feature] = frozenset()
_JSON = FormatInfo("JSON")


def key_features(format_name: str, *, single: bool) -> frozenset[Feature]:
    """The features of keys: a single key column is written bare wherever the format leaves the choice."""
    format = format_of(format_name)
    if single and format.supports(Feature.UNWRAP_SINGLES) and format.supports(Feature.WRAP_SINGLES):
        return frozenset({Feature.UNWRAP_SINGLES})
    return _NOTHING


def value_features(
    format_name: str, *, single: bool, wrap: bool | None = None, default_wrap: bool | None = None
) -> frozenset[Feature]:
    """The features of values.

    Args:
        format_name: of the values.
        single: whether there is one value column.
        wrap: what WRAP_SINGLE_VALUE says, if it is given.
        default_wrap: what `ksql.persistence.wrap.single.values` says, if it is set.

    Raises:
        SqlError: WRAP_SINGLE_VALUE cannot be obeyed.
    """
    format = format_of(format_name)
    if wrap is not None:
        feature = _wrapping(wrap)
        if not format.supports(feature):
            raise SqlError(f"Format '{format.name}' does not support 'WRAP_SINGLE_VALUE' set to '{str(wrap).lower()}'.")
        if not single:
            raise SqlError("'WRAP_SINGLE_VALUE' is only valid for single-field value schemas")
        return frozenset({feature})
    if single and default_wrap is not None and format.supports(_wrapping(default_wrap)):
        return frozenset({_wrapping(default_wrap)})
    return _NOTHING


def _wrapping(wrap: bool) -> Feature:
    return Feature.WRAP_SINGLES if wrap else Feature.UNWRAP_SINGLES


def key_encoding(encoding: Encoding, kinds: Sequence[SqlType], *, may_change: bool) -> Encoding:
    """How new key columns are encoded that come from keys of another encoding.

    Args:
        encoding: the encoding so far.
        kinds: the types of the new key columns.
        may_change: keys that the format cannot hold become JSON.
    """
    info = encoding.format
    if may_change:
        format = format_of(info.name)
        if (len(kinds) > 1 and not format.supports_multiple_columns) or not all(map(format.supports_key_type, kinds)):
            info, encoding = _JSON, Encoding(_JSON)
    if len(kinds) == 1 and not encoding.features:
        return Encoding(info, key_features(info.name, single=True))
    if len(kinds) != 1 and encoding.features:
        return Encoding(info)
    return encoding


def internal_encoding(encoding: Encoding) -> Encoding:
    """How rows of a topic are encoded where a query keeps them: with a schema of their own.

    A query keeps other columns than its topics have, which the schema that a user chose does not know.
    """
    kept = tuple((name, value) for name, value in encoding.format.properties if name != "schemaId")
    return Encoding(FormatInfo(encoding.format.name, kept), encoding.features)
