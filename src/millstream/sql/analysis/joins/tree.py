"""The order of joins: each joins one more source to the right of what was joined before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from millstream.sql.analysis.joins.conditions import JoinCondition
from millstream.sql.analysis.query.sources import AliasedSource
from millstream.sql.errors import SqlError
from millstream.sql.tree.expressions import ColumnReference, Expression
from millstream.sql.tree.queries import JoinKind


@dataclass(frozen=True)
class JoinTree:
    """A join of what was joined before with a source."""

    left: JoinTree | AliasedSource
    right: AliasedSource
    condition: JoinCondition

    def sources(self) -> Iterator[AliasedSource]:
        """The sources of all joins, left to right."""
        if isinstance(self.left, JoinTree):
            yield from self.left.sources()
        else:
            yield self.left
        yield self.right

    def equal_to_key(self) -> frozenset[Expression]:
        """The expressions that have the value of the result's key. Either side of a full join may be NULL."""
        if self.condition.kind is JoinKind.OUTER:
            return frozenset()
        keys = frozenset({self.condition.left_expression, self.condition.right_expression})
        before = self.left.equal_to_key() if isinstance(self.left, JoinTree) else frozenset()
        return keys | before if keys & before else keys

    def key_candidates(self) -> list[ColumnReference]:
        """The columns that can stand for the result's key in the projection."""
        if self.condition.kind is JoinKind.OUTER:
            return []
        equal = self.equal_to_key()
        before: Sequence[Expression] = self.left.key_candidates() if isinstance(self.left, JoinTree) else []
        both = (self.condition.left_expression, self.condition.right_expression)
        columns = [expression for expression in (*before, *both) if isinstance(expression, ColumnReference)]
        return [column for column in dict.fromkeys(columns) if column in equal]

    def __str__(self) -> str:
        left = str(self.left) if isinstance(self.left, JoinTree) else self.left.alias
        return f"({left} JOIN {self.right.alias})"


def build_join_tree(conditions: Sequence[JoinCondition]) -> JoinTree:
    """Puts joins in order.

    Raises:
        SqlError: a condition is not between a new source and those joined before it.
    """
    first, *others = conditions
    tree = JoinTree(first.left, first.right, first)
    for condition in others:
        joined = set(tree.sources())
        if condition.left in joined and condition.right in joined:
            raise SqlError(
                f"Cannot perform circular join - both {condition.right.alias} and {condition.left.alias} are already "
                f"included in the current join tree: {tree}"
            )
        if condition.left not in joined and condition.right not in joined:
            raise SqlError(
                "Cannot build JOIN tree; neither source in the join is the FROM source or included in a previous JOIN: "
                f"{condition}. The current join tree is {tree}"
            )
        forward = condition if condition.left in joined else condition.flip()
        tree = JoinTree(tree, forward.right, forward)
    return tree
