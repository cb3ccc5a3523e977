"""The parser: text to the statements of `millstream.sql.tree`.

    >>> from millstream.sql.parser import parse
    >>> parsed, = parse("DROP STREAM orders;")
    >>> parsed.statement
    DropSource(kind=<SourceKind.STREAM: 'STREAM'>, name='ORDERS', if_exists=False, delete_topic=False)

As in ksqlDB it works in two steps. First the whole text must follow the grammar: `statements` cuts it into statements
and checks that. Then, one by one and just before they are executed, statements get their meaning, for which the types
and variables must be known that were defined before: `parse_one`. `parse` does both for a script that needs nothing
but itself.
"""

from millstream.sql.parser.api import (
    Parsed,
    StatementText,
    parse,
    parse_expression,
    parse_one,
    parse_schema,
    parse_type,
    split,
    statements,
)

__all__ = [
    "Parsed",
    "StatementText",
    "parse",
    "parse_expression",
    "parse_one",
    "parse_schema",
    "parse_type",
    "split",
    "statements",
]
