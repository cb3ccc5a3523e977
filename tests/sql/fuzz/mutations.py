"""Statements that nobody would write: mutations of statements that somebody would."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from .statements import QUERIES, SEEDS

_PIECES = (
    *(
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "AS",
        "NULL",
        "CAST(",
        "CASE",
        "WHEN",
        "END",
        "NOT",
        "AND",
        "OR",
        "IN (",
        "IS",
    ),
    *(
        "ARRAY[",
        "MAP(",
        "STRUCT(",
        "STRUCT<",
        "ARRAY<",
        "MAP<",
        "DECIMAL(",
        "WINDOW",
        "EMIT CHANGES",
        "LIMIT",
        "WITH (",
        "KEY",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "->",
        "=>",
        ":=",
        ",",
        ";",
        ".",
        "*",
        "||",
        "-",
        "--",
        "/*",
        "*/",
        "'",
        '"',
        "`",
        "${x}",
    ),
    *(
        "0",
        "-1",
        "2147483648",
        "9223372036854775808",
        "1e400",
        "1e-400",
        ".5",
        "1.",
        "00",
        "1a",
        "99999999999999999999.9",
    ),
    *(
        "''",
        "'a'",
        "`a`",
        '"b"',
        "x",
        "ROWTIME",
        "ROWKEY",
        "WINDOWSTART",
        "COUNT(*)",
        "int",
        "é",
        "\u2028",
        "\x00",
        "\U0001f600",
    ),
    *("DATE '2024-13-01'", "TIMESTAMP 'x'", "TIME '25:00'", "9999999999999 DAYS", "NaN", "true", "a.b", "a->b", "a[1]"),
)
#: What can take the place of a word, so that the statement is still one.
_WORDS = (
    *(
        "id",
        "driver",
        "fare",
        "taken",
        "a",
        "b",
        "flag",
        "day",
        "raw",
        "tags",
        "m",
        "s",
        "s->x",
        "rides.id",
        "name",
        "home",
    ),
    *("rides", "calls", "drivers", "cities", "long_rides", "per_driver", "q", "ROWTIME", "WINDOWSTART", "ROWKEY", "*"),
    *(
        "1",
        "0",
        "-1",
        "2.50",
        "1e3",
        "3000000000",
        "'x'",
        "''",
        "'2024-01-01'",
        "NULL",
        "true",
        "ARRAY[1]",
        "MAP('k' := 1)",
    ),
    *(
        "COUNT",
        "SUM",
        "MAX",
        "TOPK",
        "COLLECT_SET",
        "AVG",
        "EXPLODE",
        "ABS",
        "ROUND",
        "UCASE",
        "LEN",
        "CONCAT",
        "SPLIT",
    ),
    *(
        "ARRAY_LENGTH",
        "MAP_KEYS",
        "TRANSFORM",
        "FILTER",
        "PARSE_DATE",
        "FORMAT_DATE",
        "DATEADD",
        "COALESCE",
        "AS_VALUE",
    ),
    *("INT", "BIGINT", "DOUBLE", "STRING", "DECIMAL(4, 2)", "BOOLEAN", "BYTES", "DATE", "TIME", "TIMESTAMP"),
    *("STREAM", "TABLE", "LEFT", "RIGHT", "INNER", "GROUP", "PARTITION", "TUMBLING", "HOPPING", "AND", "OR", "FINAL"),
    *("'JSON'", "'AVRO'", "'PROTOBUF'", "'DELIMITED'", "'KAFKA'", "'NONE'", "SECONDS", "DAYS", "HOURS"),
)
_TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|[^\w\s]")
_WRAPPERS = (
    ("(", ")"),
    ("ABS(", ")"),
    ("CAST(", " AS STRING)"),
    ("ARRAY[", "]"),
    ("-", ""),
    ("NOT ", ""),
    ("a + ", ""),
    ("f(x => ", ")"),
)


def mutations(seed: int, count: int) -> Iterator[str]:
    """Mutated statements; the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        statement = chance.choice(chance.choice((QUERIES, SEEDS)))
        for _ in range(chance.choice((1, 1, 1, 2, 3, 5))):
            statement = chance.choice(_MUTATIONS)(statement, chance)
        yield statement


def _remove_text(text: str, chance: random.Random) -> str:
    begin = chance.randrange(len(text) + 1)
    return text[:begin] + text[begin + chance.choice((1, 1, 1, 2, 10, 1000)) :]


def _insert_text(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    piece = chance.choice((chr(chance.randrange(0x20, 0x7F)), chr(chance.randrange(0x3000)), chance.choice(_PIECES)))
    return text[:at] + piece + text[at:]


def _change_case(text: str, chance: random.Random) -> str:
    return chance.choice((text.upper, text.lower, text.swapcase, text.title))()


def _tokens(change: Callable[[list[str], random.Random], None]) -> Callable[[str, random.Random], str]:
    def mutate(text: str, chance: random.Random) -> str:
        tokens = _TOKEN.findall(text)
        if tokens:
            change(tokens, chance)
        return "".join(tokens)

    return mutate


def _remove_token(tokens: list[str], chance: random.Random) -> None:
    del tokens[chance.randrange(len(tokens))]


def _swap_tokens(tokens: list[str], chance: random.Random) -> None:
    first, second = chance.randrange(len(tokens)), chance.randrange(len(tokens))
    tokens[first], tokens[second] = tokens[second], tokens[first]


def _replace_token(tokens: list[str], chance: random.Random) -> None:
    tokens[chance.randrange(len(tokens))] = chance.choice((chance.choice(_PIECES), chance.choice(tokens)))


def _replace_word(tokens: list[str], chance: random.Random) -> None:
    words = [index for index, token in enumerate(tokens) if re.match(r"[\w'`]", token)]
    if words:
        tokens[chance.choice(words)] = chance.choice(_WORDS)


def _repeat_tokens(tokens: list[str], chance: random.Random) -> None:
    begin = chance.randrange(len(tokens))
    piece = tokens[begin : begin + chance.randrange(1, 6)]
    tokens[begin:begin] = piece * chance.choice((1, 1, 1, 2, 50))


def _splice_tokens(tokens: list[str], chance: random.Random) -> None:
    other = _TOKEN.findall(chance.choice(SEEDS))
    tokens[chance.randrange(len(tokens)) :] = other[chance.randrange(len(other)) :]


def _wrap_token(tokens: list[str], chance: random.Random) -> None:
    at = chance.randrange(len(tokens))
    before, after = chance.choice(_WRAPPERS)
    times = chance.choice((1, 1, 2, 5, 20, 300))
    tokens[at] = before * times + tokens[at] + after * times


_MUTATIONS = (
    _remove_text,
    _insert_text,
    _change_case,
    _tokens(_remove_token),
    _tokens(_swap_tokens),
    _tokens(_replace_token),
    _tokens(_replace_token),
    *(_tokens(_replace_word),) * 8,
    _tokens(_repeat_tokens),
    _tokens(_splice_tokens),
    _tokens(_wrap_token),
)
