"""WHERE."""

from __future__ import annotations

from millstream.sql.analysis.environment import Environment
from millstream.sql.analysis.nodes.base import Node
from millstream.sql.analysis.steps.filters import check_condition, filtered
from millstream.sql.analysis.steps.relations import Relation
from millstream.sql.tree.expressions import Expression


class FilterNode(Node):
    """Records that do not meet a condition are left out."""

    def __init__(self, source: Node, condition: Expression, environment: Environment) -> None:
        check_condition(condition, "WHERE", source.schema, environment)
        self.schema = source.schema
        self.kind = source.kind
        self.alias = source.alias
        self.inputs = (source,)
        self._condition = condition

    def build(self, environment: Environment) -> Relation:
        return filtered(self.inputs[0].build(environment), self._condition, ("WhereFilter",))
