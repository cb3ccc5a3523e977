"""The engine: one statement after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from millstream.errors import RegistryError
from millstream.sql.engine.answers.entities import Entity
from millstream.sql.engine.context import Context
from millstream.sql.engine.statements import (
    connectors,
    control,
    create,
    definition,
    insert_values,
    inspection,
    persistent,
    selection,
)
from millstream.sql.errors import SqlError, StatementError
from millstream.sql.parser import Parsed, parse_one, statements
from millstream.sql.tree import statements as tree

Handler = Callable[[Context, Any, str], Entity | None]

_HANDLERS: dict[type[tree.Statement], Handler] = {
    tree.CreateSource: create.create_source,
    tree.CreateAsSelect: persistent.create_as_select,
    tree.InsertInto: persistent.insert_into,
    tree.InsertValues: insert_values.insert_values,
    tree.SelectQuery: selection.select,
    tree.DropSource: definition.drop_source,
    tree.AlterSource: definition.alter_source,
    tree.CreateType: definition.create_type,
    tree.DropType: definition.drop_type,
    tree.CreateConnector: connectors.create_connector,
    tree.DropConnector: connectors.drop_connector,
    tree.DescribeConnector: connectors.describe_connector,
    tree.Show: inspection.show,
    tree.Describe: inspection.describe,
    tree.DescribeSources: inspection.describe_sources,
    tree.DescribeFunction: inspection.describe_function,
    tree.Explain: inspection.explain,
    tree.PrintTopic: inspection.print_topic,
    tree.Terminate: control.terminate,
    tree.Pause: control.pause,
    tree.Resume: control.resume,
    tree.SetProperty: control.set_property,
    tree.UnsetProperty: control.unset_property,
    tree.AlterSystem: control.alter_system,
    tree.Define: control.define,
    tree.Undefine: control.undefine,
    tree.AssertTopic: control.assert_topic,
    tree.AssertSchema: control.assert_schema,
}


class Engine:
    """Executes statements.

    Args:
        context: what they are executed with, and what they change.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def execute(self, sql: str) -> list[Entity]:
        """Execute statements, in order; those before one that fails stay executed.

        Raises:
            StatementError: a statement cannot be executed.
        """
        return list(self.run(sql))

    def run(self, sql: str) -> Iterator[Entity]:
        """Execute statements, giving the answer of each before the next is executed.

        Raises:
            StatementError: a statement cannot be executed.
        """
        for text in statements(sql, tests=self.context.scripts):
            yield from self.execute_one(text)

    def execute_one(self, text: str) -> list[Entity]:
        """Execute a single statement.

        Raises:
            StatementError: it cannot be executed.
        """
        return self.execute_parsed(self.parse(text))

    def parse(self, text: str) -> Parsed:
        """What a single statement means, with the types and variables there are now.

        Raises:
            StatementError: it means nothing.
        """
        context = self.context
        substitute = context.settings.get("ksql.variable.substitution.enable", True)
        with _about(text):
            return parse_one(text, types=context.catalogue.types, variables=context.variables if substitute else None)

    def execute_parsed(self, parsed: Parsed) -> list[Entity]:
        """Execute what `parse` gave.

        Raises:
            StatementError: it cannot be executed.
        """
        with _about(parsed.text):
            if isinstance(parsed.statement, tree.RunScript):
                return self.execute(control.script(self.context, parsed.statement))
            handler = _HANDLERS.get(type(parsed.statement))
            if handler is None:
                raise StatementError("Statement not executable", statement=parsed.text)
            entity = handler(self.context, parsed.statement, parsed.text)
        return [] if entity is None else [entity]


@contextmanager
def _about(text: str) -> Iterator[None]:
    """Have errors name the statement."""
    try:
        yield
    except StatementError as error:
        if error.statement is None:
            error.statement = text
        raise
    except (SqlError, RegistryError) as error:
        raise StatementError(error.primary, statement=text, detail=error.detail, hint=error.hint) from error
