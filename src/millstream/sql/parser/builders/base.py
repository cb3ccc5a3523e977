"""From a tree of the grammar to what it means."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree

from millstream.sql.errors import Location
from millstream.sql.parser.names import Name, PrepareError, Source, place, unquote

#: How deep expressions may be nested. What comes after the parser goes into them by recursion, with a few calls per
#: level, and Python allows a thousand.
MAX_DEPTH = 150

_TOO_DEEP = (
    "Error processing statement: Statement is too large to parse. "
    "This may be caused by having too many nested expressions in the statement."
)


class TreeBuilder:
    """Calls, for every rule in a tree, the method with the rule's name; the inner rules come first.

    A method is given where its rule begins, and what the rule consists of: what other methods returned, tokens, and
    None for what was left out.

    Args:
        source: the text that was parsed.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, tree: Any) -> Any:
        """What a tree means.

        Raises:
            PrepareError: it means nothing.
        """
        outer_first: list[Any] = []
        left: list[tuple[Any, int]] = [(tree, 0)]
        while left:
            node, depth = left.pop()
            outer_first.append(node)
            if isinstance(node, Tree):
                if depth > MAX_DEPTH:
                    raise PrepareError(_TOO_DEEP)
                left.extend((child, depth + 1) for child in node.children)
        built: list[Any] = []
        for node in reversed(outer_first):
            if isinstance(node, Tree):
                size = len(node.children)
                parts = built[len(built) - size :]
                del built[len(built) - size :]
                at = self.source.origin if node.meta.empty else self.source.at(node.meta)
                built.append(getattr(self, node.data)(at, *parts))
            else:
                built.append(node)
        return built[0]

    def name(self, token: Token) -> Name:
        """The name a token stands for."""
        at = self.source.at(token)
        written = str(token)
        if token.type in ("QUOTED_IDENTIFIER", "BACKQUOTED_IDENTIFIER"):
            return Name(unquote(written), written, at)
        if token.type == "VARIABLE":
            raise PrepareError(
                f"Illegal argument at {place(at)}. Identifier names cannot start with '@' and may only contain "
                f"alphanumeric values and '_'. Got: '{written}'",
                at,
                plain=True,
            )
        return Name(written.upper(), written, at)

    def identifier(self, at: Location, token: Token) -> Name:
        return self.name(token)
