"""What could come next: keywords, streams and tables, their columns, functions, commands of the shell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from millstream.errors import MillstreamError
from millstream.shell.client import KsqlClient
from millstream.shell.commands import USAGES
from millstream.sql.parser.syntax import tokens, vocabulary

_WORD = re.compile(r"[`\w][\w-]*$|`[^`]*$")
_PLAIN = re.compile(r"[A-Z_][A-Z0-9_]*")
#: After these comes the name of a stream or table.
_BEFORE_SOURCES = frozenset({"FROM", "JOIN", "INTO", "DESCRIBE", "STREAM", "TABLE"})


@dataclass
class Names:
    """The names that a server knows; asked for when they are first needed, and kept.

    Args:
        client: gives the client of the server that is asked now.
    """

    client: Callable[[], KsqlClient]
    _sources: list[str] | None = None
    _functions: list[str] = field(default_factory=list)
    _columns: dict[str, list[str]] = field(default_factory=dict)

    def forget(self) -> None:
        """They may have changed."""
        self._sources = None
        self._columns = {}

    @property
    def sources(self) -> list[str]:
        """The names of streams and tables."""
        self._load()
        return self._sources or []

    @property
    def functions(self) -> list[str]:
        """The names of functions."""
        self._load()
        return self._functions

    def columns(self, source: str) -> list[str]:
        """The names of the columns of a stream or table."""
        if source not in self._columns:
            self._columns[source] = self._ask_columns(source)
        return self._columns[source]

    def _load(self) -> None:
        if self._sources is not None:
            return
        sources: list[str] = []
        functions: list[str] = []
        for entity in self._ask("SHOW STREAMS; SHOW TABLES; SHOW FUNCTIONS;"):
            sources += [each["name"] for each in (*entity.get("streams", ()), *entity.get("tables", ()))]
            functions += [each["name"] for each in entity.get("functions", ())]
        self._sources, self._functions = sorted(sources), sorted(functions)

    def _ask_columns(self, source: str) -> list[str]:
        return [
            each["name"]
            for entity in self._ask(f"DESCRIBE {quoted(source)};")
            for each in entity.get("sourceDescription", {}).get("fields", ())
        ]

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        try:
            return self.client().execute(sql)
        except MillstreamError:  # whoever is typing is told when the statement is sent
            return []


class StatementCompleter(Completer):
    """Completes statements.

    Args:
        names: those of the server.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor
        found = _WORD.search(before)
        word = found[0] if found else ""
        statement = _current(before[: len(before) - len(word)])
        for text, kind in self._candidates(statement, document.text):
            if text.upper().lstrip("`").startswith(word.upper().lstrip("`")):
                shown = text.lower() if kind in ("keyword", "function") and word and word == word.lower() else text
                yield Completion(shown, -len(word), display_meta=kind)

    def _candidates(self, before: str, whole: str) -> Iterator[tuple[str, str]]:
        words = [str(token).upper() for token in tokens(before)]
        if not words:
            yield from _each(USAGES, "command")
        elif words[-1] in _BEFORE_SOURCES:
            yield from _each(map(quoted, self._names.sources), "stream or table")
        else:
            mentioned = {str(token).strip("`").upper() for token in tokens(whole)}
            sources = [name for name in self._names.sources if name.upper() in mentioned]
            columns = dict.fromkeys(column for source in sources for column in self._names.columns(source))
            yield from _each(map(quoted, columns), "column")
            yield from _each(self._names.functions, "function")
        yield from _each(sorted(vocabulary().words), "keyword")


def quoted(name: str) -> str:
    """A name as statements need it.

    >>> quoted("ORDERS"), quoted("orders")
    ('ORDERS', '`orders`')
    """
    return name if _PLAIN.fullmatch(name) else f"`{name.replace('`', '``')}`"


def _each(texts: Iterable[str], kind: str) -> Iterator[tuple[str, str]]:
    return ((text, kind) for text in texts)


def _current(text: str) -> str:
    """The statement that is being typed: what follows the last semicolon."""
    end = 0
    for token in tokens(text):
        if token.type == "SEMICOLON":
            end = token.end_pos or 0
    return text[end:]
