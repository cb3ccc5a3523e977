"""Steps with what is known of their keys: what joins and groupings need to choose formats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.sql.catalogue import Source
from millstream.sql.plan.steps import Step
from millstream.sql.schema.columns import Schema
from millstream.sql.schema.formats import Encoding, FormatInfo, Formats, WindowInfo
from millstream.sql.tree.statements import SourceKind

#: No internal topic is written with the schema that a user chose for another.
_OWN_SCHEMA = "schemaId"


@dataclass(frozen=True)
class KeyFormat:
    """How keys are encoded, and their window."""

    encoding: Encoding
    window: WindowInfo | None = None

    @classmethod
    def of(cls, source: Source) -> KeyFormat:
        """The keys of a source."""
        return cls(source.formats.key, source.window)

    @property
    def name(self) -> str:
        return self.encoding.format.name

    def internal(self, value: FormatInfo) -> Formats:
        """The formats of an internal topic with such keys."""
        key = replace(self.encoding, format=_without_own_schema(self.encoding.format))
        return Formats(key, Encoding(_without_own_schema(value)))


@dataclass(frozen=True)
class Relation:
    """The records that a step gives."""

    step: Step
    kind: SourceKind
    key: KeyFormat

    @property
    def schema(self) -> Schema:
        return self.step.schema

    @property
    def is_table(self) -> bool:
        return self.kind is SourceKind.TABLE

    def then(self, step: Step, *, kind: SourceKind | None = None, key: KeyFormat | None = None) -> Relation:
        """What a further step gives."""
        return Relation(step, kind or self.kind, key or self.key)


def _without_own_schema(info: FormatInfo) -> FormatInfo:
    return replace(info, properties=tuple(entry for entry in info.properties if entry[0] != _OWN_SCHEMA))
