"""What a session remembers: properties, variables, and which command of the service was its last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.config import is_secret
from millstream.shell.errors import ShellError
from millstream.sql.parser import parse_one
from millstream.sql.tree.statements import Define, SetProperty, Undefine, UnsetProperty

#: Statements that change the session and go no further.
STATEMENTS = frozenset({"SET", "UNSET", "DEFINE", "UNDEFINE"})


@dataclass
class Session:
    """See above. All of it is sent along with each statement.

    Attributes:
        properties: what was SET.
        variables: what was DEFINEd, by names in lower case.
        pipelining: whether statements need not wait for those before them.
        last_command: the sequence number of the last command; None if there was none.
    """

    properties: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    pipelining: bool = False
    last_command: int | None = None

    @property
    def after(self) -> int | None:
        """The command that the next statement must wait for."""
        return None if self.pipelining else self.last_command

    def executed(self, sequence_number: int) -> None:
        """Remember a command; -1 is one without a number."""
        if sequence_number >= 0:
            self.last_command = sequence_number

    def change(self, statement: str, check_property: Callable[[str], object]) -> str | None:
        """Execute one of `STATEMENTS`.

        Args:
            statement: its text.
            check_property: raises an error if a property cannot be set.

        Returns:
            What is to be told about it, if something is.

        Raises:
            MillstreamError: it is wrong.
        """
        match parse_one(statement, variables=self.variables).statement:
            case SetProperty(name=name, value=value):
                check_property(name)
                before = self.properties.get(name)
                self.properties[name] = value
                changed = "" if before is None else f" from {_shown(name, before)}"
                return (
                    f"Successfully changed local property '{name}'{changed} to {_shown(name, value)}. "
                    "Use the UNSET command to revert your change."
                )
            case UnsetProperty(name=name):
                if name not in self.properties:
                    raise ShellError(f"Cannot unset local property '{name}': it is not set")
                return (
                    f"Successfully unset local property '{name}' (value was {_shown(name, self.properties.pop(name))})."
                )
            case Define(name=name, value=value):
                self.variables[name.lower()] = value
                return None
            case Undefine(name=name):
                if self.variables.pop(name.lower(), None) is None:
                    raise ShellError(f"Cannot undefine variable '{name}': it is not defined")
                return None
            case other:
                raise AssertionError(f"{other} is for the server")


def _shown(name: str, value: str) -> str:
    return "'[hidden]'" if is_secret(name) else f"'{value}'"
