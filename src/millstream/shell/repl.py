"""Reading what people type, until they leave."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output as TerminalOutput

from millstream.errors import MillstreamError
from millstream.ksqldb.commands.masking import masked
from millstream.shell.completion import Names, StatementCompleter
from millstream.shell.shell import Leave, Shell
from millstream.shell.statements import is_complete
from millstream.sql.parser.syntax import vocabulary

_PROMPT, _FURTHER = "ksql> ", "    > "


class MaskedHistory(FileHistory):
    """What was typed, in a file of the user's own; secrets do not come into it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        super().__init__(path)

    def store_string(self, string: str) -> None:
        super().store_string(masked(string))


class Repl:
    """Reads, has it executed, and reads again.

    Args:
        shell: executes.
        history: where what was typed is kept.
        terminal: where keys come from, and where the prompt is shown; the process's own if not given.
    """

    def __init__(self, shell: Shell, history: Path, terminal: tuple[Input, TerminalOutput] | None = None) -> None:
        self._shell = shell
        names = Names(lambda: shell.client)
        shell.on_change = names.forget
        kept = MaskedHistory(history)
        shell.history = lambda: reversed(list(kept.load_history_strings()))
        keys, screen = (None, None) if terminal is None else terminal
        self._prompt: PromptSession[str] = PromptSession(
            _PROMPT,
            multiline=True,
            prompt_continuation=_FURTHER,
            history=kept,
            completer=StatementCompleter(names),
            complete_in_thread=True,  # it may ask the server
            complete_while_typing=False,  # the server is asked when somebody presses Tab
            key_bindings=_bindings(),
            input=keys,
            output=screen,
        )

    def run(self) -> None:
        """Until `exit` or Ctrl-D."""
        threading.Thread(target=vocabulary, daemon=True).start()  # a second that nobody needs to wait
        while True:
            try:
                text = self._prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if not text.strip():
                continue
            try:
                self._shell.run(text)
            except Leave:
                return
            except KeyboardInterrupt:
                self._shell.screen.print("Query terminated")
            except MillstreamError as error:
                self._shell.screen.error(error)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return bindings
