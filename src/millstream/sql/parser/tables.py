"""What a parser that stopped could have gone on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lark.parsers.lalr_analysis import Shift


@dataclass(frozen=True, slots=True)
class Stack:
    """The states an LALR parser is in, without anything it has built.

    Attributes:
        table: for every state, what to do for a terminal, and where to go after a rule.
        states: the states, the current last.
    """

    table: Mapping[Any, Mapping[str, tuple[Any, Any]]]
    states: tuple[Any, ...]

    def shift(self, terminal: str) -> Stack | None:
        """The states after a terminal; None when it cannot come here."""
        states = list(self.states)
        while True:
            actions = self.table[states[-1]]
            if not actions and terminal == "$END":
                return Stack(self.table, tuple(states))
            action = actions.get(terminal)
            if action is None:
                return None
            if action[0] is Shift:
                return Stack(self.table, (*states, action[1]))
            self._reduce(states, action[1])

    def accepts(self, terminal: str) -> bool:
        """Whether a terminal can come here."""
        return self.shift(terminal) is not None

    def expected(self) -> frozenset[str]:
        """The terminals that can come here."""
        return frozenset(
            name for name in self.table[self.states[-1]] if (name.isupper() or name == "$END") and self.accepts(name)
        )

    def settle(self) -> Stack:
        """The states after every rule that can be complete is taken to be: what is optional is left behind.

        ksqlDB's parser goes on like that before it looks at what it expects.
        """
        states = list(self.states)
        while True:
            rules = {action[1] for action in self.table[states[-1]].values() if action[0] is not Shift}
            if len(rules) != 1:
                return Stack(self.table, tuple(states))
            (rule,) = rules
            size = len(rule.expansion)
            if rule.origin.name not in self.table[states[len(states) - size - 1]]:
                return Stack(self.table, tuple(states))
            self._reduce(states, rule)

    def _reduce(self, states: list[Any], rule: Any) -> None:
        size = len(rule.expansion)
        if size:
            del states[-size:]
        states.append(self.table[states[-1]][rule.origin.name][1])
