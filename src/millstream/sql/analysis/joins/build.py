"""From the order of joins to the nodes that do them."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.joins.checks import foreign_key
from millstream.sql.analysis.joins.node import JoinKey, JoinNode
from millstream.sql.analysis.joins.sides import JoinedNode, JoiningNode, JoinRepartitionNode, PrefixNode
from millstream.sql.analysis.joins.tree import JoinTree, build_join_tree
from millstream.sql.analysis.nodes.source import SourceNode
from millstream.sql.analysis.query.analyse import Analysis
from millstream.sql.analysis.query.projection import Projection
from millstream.sql.analysis.query.references import unqualified
from millstream.sql.formats import format_of
from millstream.sql.schema.types import SqlStruct
from millstream.sql.tree.expressions import Expression


def build_joins(analysis: Analysis, environment: Environment) -> JoinNode:
    """All joins of a query, with formats of keys that all sides agree on."""
    node = _Joins(Projection(analysis.query.select), environment).build(build_join_tree(analysis.joins), "")
    node.resolve_key()
    return node


class _Joins:
    def __init__(self, written: Projection, environment: Environment) -> None:
        self._written = written
        self._environment = environment

    def build(self, tree: JoinTree, prefix: str) -> JoinNode:
        left: JoinNode | SourceNode
        if isinstance(tree.left, JoinTree):
            left = self.build(tree.left, prefix + "L_")
        else:
            left = SourceNode(f"KafkaTopic_{prefix}Left", tree.left)
        right = SourceNode(f"KafkaTopic_{prefix}Right", tree.right)
        condition = tree.condition
        foreign = foreign_key(condition, left, right, self._environment)
        key = self._key(tree) if foreign is None else JoinKey(foreign=unqualified(foreign, joined=True))
        if isinstance(left, SourceNode):
            left_side = self._side(left, f"{prefix}Left", condition.left_expression, foreign=foreign is not None)
        elif foreign is not None or condition.left_expression in _equal_to_key(tree.left):
            left_side = left
        else:
            left_side = self._rekeyed(left, f"{prefix}Left", unqualified(condition.left_expression, joined=True))
        keep_right = foreign is not None and not _needs_own_schema(right)
        right_side = self._side(right, f"{prefix}Right", condition.right_expression, foreign=keep_right)
        return JoinNode(
            f"{prefix}Join",
            condition,
            key,
            (left_side, right_side),
            self._environment.default_key,
            last=not prefix,
        )

    def _key(self, tree: JoinTree) -> JoinKey:
        candidates = tuple(tree.key_candidates())
        selected = [column for column in candidates if self._written.contains(column)]
        column = next(iter((*selected, *candidates)), None)
        return JoinKey(column, candidates)

    def _side(self, source: SourceNode, name: str, expression: Expression, *, foreign: bool) -> JoiningNode:
        """A source before it is joined. Foreign keys need not be in the partition of what they point to."""
        kept = source if foreign else self._rekeyed(source, name, unqualified(expression, joined=False))
        return PrefixNode(f"PrependAlias{name}", kept, source.aliased.alias)

    def _rekeyed(self, source: JoinedNode | SourceNode, name: str, expression: Expression) -> JoinRepartitionNode:
        return JoinRepartitionNode(f"{name}SourceKeyed", source, expression, self._environment)


def _equal_to_key(tree: object) -> frozenset[Expression]:
    return tree.equal_to_key() if isinstance(tree, JoinTree) else frozenset()


def _needs_own_schema(source: SourceNode) -> bool:
    """Keys with structs, of formats that keep schemas, may have another schema than the one that is made here."""
    return format_of(source.key.name).infers_schemas and any(
        isinstance(column.type, SqlStruct) for column in source.schema.key
    )
