"""The shell's own commands: they need no semicolon, and no server sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from millstream.sql.parser.names import unquote


@dataclass(frozen=True)
class Command:
    """A command that was typed.

    Attributes:
        name: in lower case.
        argument: what follows it, without quotes; nothing if nothing follows.
    """

    name: str
    argument: str = ""


#: How each is written, and what it does.
USAGES = {
    "help": ("help", "say what there is"),
    "exit": ("exit", "leave; so do quit and Ctrl-D"),
    "version": ("version", "of the shell and of the server"),
    "history": ("history", "what was typed before"),
    "clear": ("clear", "the screen"),
    "output": ("output [tabular|json]", "how answers are shown"),
    "server": ("server [url]", "which server is asked, or ask another one"),
    "request-pipelining": (
        "request-pipelining [on|off]",
        "on: a statement does not wait until the server has executed those before it",
    ),
    "run script": ("run script 'file'", "execute the statements of a file"),
    "spool": ("spool 'file' | spool off", "write all that is shown into a file, too"),
}

_COMMAND = re.compile(
    r"\s*(?P<name>help|exit|quit|version|history|clear|output|server|request-pipelining|run\s+script|spool)"
    r"(?:\s+(?P<argument>'(?:[^']|'')*'|[^'\s].*?))?\s*;?\s*",
    re.IGNORECASE,
)


def command_of(text: str) -> Command | None:
    """The command that a text is; None if it is none.

    >>> command_of("RUN  SCRIPT 'it''s.sql';")
    Command(name='run script', argument="it's.sql")
    >>> command_of("SHOW STREAMS;")
    """
    found = _COMMAND.fullmatch(text)
    if found is None:
        return None
    name = " ".join(found["name"].lower().split())
    argument = found["argument"] or ""
    if argument.startswith("'"):
        argument = unquote(argument)
    return Command("exit" if name == "quit" else name, argument)
