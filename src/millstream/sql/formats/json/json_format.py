"""JSON without a registry."""

from __future__ import annotations

from millstream.sql.formats.format import Codec, Format, Target, check_map_keys
from millstream.sql.formats.json.reader import json_reader
from millstream.sql.formats.json.writer import json_writer
from millstream.sql.schema.formats import Feature

MAP_KEYS = "JSON only supports MAP types with STRING keys"


class JsonFormat(Format):
    """One JSON object per row, or the bare value of a single column."""

    name = "JSON"
    supported_features = frozenset({Feature.WRAP_SINGLES, Feature.UNWRAP_SINGLES})

    def check(self, target: Target) -> None:
        check_map_keys([column.type for column in target.columns], MAP_KEYS)

    def read_failure(self, target: Target, reason: str) -> str:
        return f"Failed to deserialize {target.what} from topic: {target.topic}. {reason}"

    def codec(self, target: Target) -> Codec:
        return Codec(
            json_writer(target.columns, unwrapped=target.unwrapped),
            json_reader(target.columns, unwrapped=target.unwrapped),
        )
