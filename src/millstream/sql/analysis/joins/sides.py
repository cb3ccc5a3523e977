"""What happens to a source before it is joined: it may need another key, and its columns get its name as a prefix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.names import joined_name
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.nodes.source import SourceNode
from millstream.sql.analysis.steps.rekeying import Rekeying, rekeyed_schema, repartition_needed
from millstream.sql.analysis.steps.relations import KeyFormat, Relation
from millstream.sql.analysis.steps.selecting import select
from millstream.sql.formats import format_of
from millstream.sql.plan.steps import Selected
from millstream.sql.schema.columns import Schema
from millstream.sql.tree.expressions import ColumnReference, Expression


class JoiningNode(Node):
    """A side of a join: both sides must agree on how keys are encoded."""

    @abstractmethod
    def preferred_key(self) -> KeyFormat | None:
        """The format its keys have; None when they are made anew, so that any will do."""

    @abstractmethod
    def agree_on(self, key: KeyFormat) -> None:
        """Takes the format that was chosen for the join's keys."""


class JoinedNode(JoiningNode):
    """What was joined before."""

    @abstractmethod
    def resolve_key(self) -> None:
        """Lets its two sides agree on the format of keys that they like best."""


class JoinRepartitionNode(JoiningNode):
    """Records get the join's expression as key, if it is not their key already."""

    def __init__(
        self, name: str, source: JoinedNode | SourceNode, expression: Expression, environment: Environment
    ) -> None:
        self.schema = rekeyed_schema(source.schema, [expression], environment)
        self.kind = source.kind
        self.alias = source.alias
        self.inputs = (source,)
        self._name = name
        self._source = source
        self._expression = expression
        self._key: KeyFormat | None = None
        self._always = False

    @property
    def _needed(self) -> bool:
        return repartition_needed(self._source.schema, [self._expression])

    def preferred_key(self) -> KeyFormat | None:
        if self._needed:
            return None
        return self._source.key if isinstance(self._source, SourceNode) else self._source.preferred_key()

    def agree_on(self, key: KeyFormat) -> None:
        # Keys whose bytes hold the id of a schema may be equal and still differ.
        self._always = format_of(key.name).infers_schemas
        if isinstance(self._source, SourceNode):
            if self._needed or self._always or key != self._source.key:
                self._key = key
            return
        if self._needed or self._always:
            self._key = key
            self._source.resolve_key()
            return
        preferred = self._source.preferred_key()
        if preferred is None or preferred == key:
            self._source.agree_on(key)
        else:
            self._key = key
            self._source.resolve_key()

    def build(self, environment: Environment) -> Relation:
        rekeying = Rekeying((self._expression,), self.value_format, self._key, self._always)
        return rekeying.apply(self._source.build(environment), (self._name,), environment)


class PrefixNode(JoiningNode):
    """The columns of a source get its name as a prefix, so that those of several sources can be told apart."""

    def __init__(self, name: str, source: JoinRepartitionNode | SourceNode, alias: str) -> None:
        self.schema = Schema(
            tuple(replace(column, name=joined_name(alias, column.name)) for column in source.schema.columns)
        )
        self.kind = source.kind
        self.alias = source.alias
        self.inputs = (source,)
        self._name = name
        self._source = source
        self._names = {column.name: joined_name(alias, column.name) for column in source.schema.value}

    def preferred_key(self) -> KeyFormat | None:
        return self._source.key if isinstance(self._source, SourceNode) else self._source.preferred_key()

    def agree_on(self, key: KeyFormat) -> None:
        if isinstance(self._source, JoinRepartitionNode):
            self._source.agree_on(key)

    def star(self, alias: str | None) -> list[str]:
        return [self._names.get(name, name) for name in self._source.star(alias)]

    def unknown(self, columns: frozenset[ColumnReference]) -> frozenset[ColumnReference]:
        own_names = {joined: own for own, joined in self._names.items()}
        known = {
            column
            for column in columns
            if column.source is None
            and column.name in own_names
            and not self._source.unknown(frozenset({ColumnReference(own_names[column.name])}))
        }
        return self._source.unknown(columns - known)

    def build(self, environment: Environment) -> Relation:
        source = self._source.build(environment)
        keys = [column.name for column in self.schema.key]
        columns = [Selected(joined, ColumnReference(own)) for own, joined in self._names.items()]
        return select(source, keys, columns, (self._name,), self.value_format, environment)
