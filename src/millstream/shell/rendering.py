"""The screen: where answers, rows and errors are shown, as tables for people or as JSON for programs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from millstream.errors import MillstreamError
from millstream.shell.client import Element
from millstream.shell.entities import shown_entity
from millstream.shell.output import Output
from millstream.shell.rows import TOMBSTONE, RowTable, cell_text, columns_of, harmless
from millstream.shell.spool import Spool

#: Columns of a table that is not on a terminal: a row is a line.
_WIDEST = 100_000
#: So many rows of a pull query say how wide its columns are.
_SAMPLE = 1000


class Screen:
    """Shows things, and has a copy of them in a file while there is a `spool`.

    Args:
        console: where answers go; by default the standard output.
        errors: where errors go; by default the standard error, so that they are not among a program's answers.
        output: how answers are shown.
    """

    def __init__(
        self, console: Console | None = None, errors: Console | None = None, output: Output = Output.TABULAR
    ) -> None:
        self._console = Console(highlight=False) if console is None else console
        if not self._console.is_terminal:
            self._console.width = _WIDEST
        self._errors = Console(stderr=True, highlight=False, soft_wrap=True) if errors is None else errors
        self.output = output
        self.spool: Spool | None = None

    def print(self, content: RenderableType) -> None:
        """Show something; text is shown as it is, and lines of it are not broken."""
        shown = Text(content) if isinstance(content, str) else content  # else :names: would become pictures
        self._console.print(shown, soft_wrap=isinstance(content, str))
        if self.spool is not None:
            self.spool.print(shown)

    def typed(self, statement: str) -> None:
        """What comes next is the answer to this; the screen has it already."""
        if self.spool is not None:
            self.spool.print(Text(f"ksql> {statement}"))

    def entity(self, content: Mapping[str, Any]) -> None:
        """Show an answer."""
        if self.output is Output.JSON:
            self.print(json.dumps(content))
            return
        for part in shown_entity(content):
            self.print(part)

    def rows(self, elements: Iterator[tuple[str, Element]], *, is_push: bool) -> None:
        """Show the rows of an answer: as they come, if it is a push query's."""
        if self.output is Output.JSON:
            for text, _ in elements:
                self.print(text)
            return
        parts = (element for _, element in elements)
        header = next((element.header for element in parts if element.header is not None), None)
        if header is None:
            return
        columns = columns_of(header.schema)
        cells = self._cells(parts, len(columns))
        sample = [] if is_push else list(itertools.islice(cells, _SAMPLE))
        shown = [row for row in sample if isinstance(row, list)]
        table = RowTable(columns, shown, self._console.width if self._console.is_terminal else None)
        for line in table.head():
            self.print(line)
        for row in itertools.chain(sample, cells):
            for line in [row] if isinstance(row, str) else table.row(row):
                self.print(line)

    def lines(self, lines: Iterable[str]) -> None:
        """Show lines of text as they come."""
        for line in lines:
            self.print(harmless(line))

    def error(self, error: MillstreamError) -> None:
        """Show what went wrong."""
        told = Text.assemble((harmless(error.primary, lines=True), "red"))
        for label, text in (("", error.detail), ("hint: ", error.hint)):
            if text:
                told.append(f"\n{label}{harmless(text, lines=True)}")
        self._errors.print(told)
        if self.spool is not None:
            self.spool.print(told)

    def clear(self) -> None:
        """Empty the screen."""
        self._console.clear()

    def start_spool(self, spool: Spool) -> None:
        """From now on all goes into a file, too."""
        self.end_spool()
        self.spool = spool

    def end_spool(self) -> None:
        """No more goes into the file. Safe to call again."""
        if self.spool is not None:
            self.spool.close()
            self.spool = None

    def _cells(self, parts: Iterable[Element], count: int) -> Iterator[list[str] | str]:
        """The cells of each row, and what is said at the end."""
        for element in parts:
            if element.row is not None:
                cells = [cell_text(value) for value in element.row.columns]
                if element.row.tombstone:
                    cells = [TOMBSTONE if cell == "null" else cell for cell in cells]
                yield (cells + [""] * count)[:count]
            elif element.final_message is not None:
                yield harmless(element.final_message)
