"""Where ksqlDB's parser looks ahead: until when it does not know which of several forms it reads."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

_OPENING = {"LPAREN", "LBRACKET", "CASE"}
_CLOSING = {"RPAREN", "RBRACKET", "END"}

#: What shows that an item of SELECT is more than `value -> *`.
_OPERATORS = {
    *("PLUS", "MINUS", "ASTERISK", "SLASH", "PERCENT", "CONCAT", "EQ", "NEQ", "LT", "LTE", "GT", "GTE"),
    *("AND", "OR", "NOT", "IS", "BETWEEN", "LIKE", "IN", "AS", "AT"),
}


def is_undecided(read: Sequence[Token]) -> bool:
    """Whether it is open, after these tokens of a statement, what comes: the statement itself or an item of SELECT."""
    kinds = [token.type for token in read]
    while kinds and kinds[0] == "EXPLAIN":
        kinds.pop(0)
    if not kinds:
        return False
    if "SELECT" in kinds:
        return _is_item_open(kinds[kinds.index("SELECT") + 1 :])
    return _is_statement_open(kinds)


def _is_statement_open(kinds: list[str]) -> bool:
    first, second = kinds[0], kinds[1] if len(kinds) > 1 else None
    if first in ("DROP", "LIST", "SHOW", "DESCRIBE", "TERMINATE", "PAUSE", "RESUME", "ALTER"):
        return second is None
    if first == "ASSERT":
        return not {"TOPIC", "SCHEMA", "STREAM", "TABLE"} & set(kinds) and second not in ("VALUES", "NULL")
    if first == "INSERT":
        return len(kinds) <= 3
    if first != "CREATE":
        return False
    if second in ("TYPE", "SINK") or "CONNECTOR" in kinds:
        return False
    if "SOURCE" in kinds[:4] and {"STREAM", "TABLE"} & set(kinds):
        return False
    with_at = kinds.index("WITH") if "WITH" in kinds else len(kinds)
    return "LPAREN" not in kinds[:with_at]


def _is_item_open(kinds: list[str]) -> bool:
    """Whether, after SELECT, the last item is not yet a whole value, nor more than a value."""
    item: list[str] = []
    depth = 0
    decided = False
    for kind in kinds:
        if depth == 0:
            if kind == "FROM":
                return False
            if kind == "COMMA":
                item, decided = [], False
                continue
            decided = decided or kind in _OPERATORS
        item.append(kind)
        if kind in _OPENING:
            depth += 1
        elif kind in _CLOSING:
            depth = max(0, depth - 1)
    return bool(item) and not decided and (depth > 0 or item[-1] in ("DOT", "STRUCT_FIELD_REF", "CAST"))
