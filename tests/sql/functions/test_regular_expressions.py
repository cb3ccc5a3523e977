"""Java's regular expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.regex import PatternError, compile_java
from millstream.sql.schema.types import INTEGER, STRING

Evaluate = Callable[..., Any]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        # classes
        ("[a-z&&[^bc]]+", "zabcd", "za"),
        ("[a-d[m-p]]+", "xampz", "amp"),
        ("[a-z&&[def]&&[ef]]+", "defg", "ef"),
        (r"[\p{Lu}&&[^A]]", "AB", "B"),
        ("[]a]+", "x]a", "]a"),
        ("[^]]+", "ab]", "ab"),
        (r"[\w.-]+@", "a.b-c@x", "a.b-c@"),
        (r"[|~\-]+", "a|~-", "|~-"),
        (r"[\Q^]\E]+", "a]^", "]^"),
        ("[a-]+", "b-a", "-a"),
        (r"[^\d\s]+", "1 ab", "ab"),
        (r"[\x41-\u0043]+", "ABCD", "ABC"),
        # ASCII, unless told otherwise
        (r"\d+", "٣4", "4"),
        (r"\w+", "éab", "ab"),
        (r"(?U)\w+", "éab", "éab"),
        (r"\p{Alpha}+", "éab", "ab"),
        (r"\p{L}+", "1éab", "éab"),
        (r"\pL+", "1éab", "éab"),
        (r"\P{L}+", "a12", "12"),
        (r"\p{IsGreek}+", "aβδ", "βδ"),
        (r"\p{javaUpperCase}", "aÉ", "É"),
        (r"\p{Punct}+", "a!]^`~", "!]^`~"),
        (r"\h\v", " \t\n", "\t\n"),
        # lines
        ("^a.c$", "a\u2028c", None),
        ("(?s)^a.c$", "a\nc", "a\nc"),
        ("(?d)a.c", "a\rc", "a\rc"),
        ("^abc$", "abc\r\n", "abc"),
        ("^abc$", "abc\nd", None),
        ("(?m)^b$", "a\r\nb\r\nc", "b"),
        (r"\Aabc\Z", "abc\n", "abc"),
        (r"abc\z", "abc\n", None),
        (r"a\Rb", "a\r\nb", "a\r\nb"),
        # groups, references, flags
        (r"(?<y>\d\d)-\k<y>", "12-21-21", "21-21"),
        (r"(a)(b)\2", "abb", "abb"),
        (r"(a)\11", "aa1", "aa1"),
        (r"x\3|y", "xy", "y"),
        ("(?:ab)+", "xababa", "abab"),
        ("(?i)ABC|def", "xDEF", "DEF"),
        ("a(?i)b|c", "C", "C"),
        ("(?i:a)b", "AB Ab", "Ab"),
        ("(?i)ss", "ß SS", "SS"),
        ("(?i)é", "É", None),
        ("(?iu)é", "É", "É"),
        (r"(?i)[a-c]+\x41(b)\1", "xCAaBb", "CAaBb"),
        ("(?i)a(?-i)b", "AB Ab", "Ab"),
        ("(?>a|ab)c", "abc", None),
        ("a++a", "aaa", None),
        ("(?<=x)y(?!z)", "xyz xy", "y"),
        # quotations, escapes, comments
        (r"\Qa.b*\E+", "a.b**", "a.b**"),
        (r"\Qa.b", "a.b", "a.b"),
        (r"\u0041\x42\0103\t\e\cA", "ABC\t\x1b\x01", "ABC\t\x1b\x01"),
        (r"\x{1F600}", "\U0001f600", "\U0001f600"),
        (r"\ud83d\ude00", "\U0001f600", "\U0001f600"),
        ("(?x) a b # c\n [ c d ]", "abd", "abd"),
        ("a{2,3}?b{1}c{2,}", "aabcc", "aabcc"),
        ("}", "{}", "}"),
    ],
)
def test_patterns(pattern: str, text: str, found: str | None) -> None:
    match = compile_java(pattern).search(text)
    assert (match and match.group()) == found


@pytest.mark.parametrize(
    "pattern",
    [
        "*a",
        "a**",
        "a{,3}",
        "{",
        "a{2",
        "a{3,2}",
        "(",
        ")",
        "[a",
        "[b-a]",
        "[&&]",
        "\\",
        r"\y",
        r"\p{Foo}",
        r"\p",
        r"\k<x>",
        r"\kx",
        "(?<1a>x)",
        "(?z)",
        r"\xZZ",
        r"\08",
        r"[\y]",
        "[\\",
    ],
)
def test_what_java_refuses(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_java(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "group", "expected"),
    [
        (".ell.", "hello", 0, "hello"),
        ("(h)(x)?", "hello", 2, None),
        ("(.*) (.*)", "hello there", 2, "there"),
        ("x", "hello", 0, None),
        ("h", "hello", 3, None),
    ],
)
def test_extract(evaluate: Evaluate, pattern: str, text: str, group: int, expected: str | None) -> None:
    assert evaluate("regexp_extract", (STRING, pattern), (STRING, text), (INTEGER, group)) == expected


def test_extract_without_group(evaluate: Evaluate) -> None:
    assert evaluate("regexp_extract", (STRING, "l+"), (STRING, "hello")) == "ll"
    assert evaluate("regexp_extract_all", (STRING, "l"), (STRING, "hello")) == ["l", "l"]
    assert evaluate("regexp_extract_all", (STRING, "x"), (STRING, "hello")) == []
    with pytest.raises(FunctionError, match="No group -1"):
        evaluate("regexp_extract", (STRING, "l"), (STRING, "hello"), (INTEGER, -1))


@pytest.mark.parametrize(
    ("pattern", "text", "group", "expected"),
    [(r"(\w+) (\w*)", "a b c d", 2, ["b", "d"]), ("(a)|b", "ab", 1, ["a", None]), ("a", "a", 1, None)],
)
def test_extract_all(evaluate: Evaluate, pattern: str, text: str, group: int, expected: Any) -> None:
    assert evaluate("regexp_extract_all", (STRING, pattern), (STRING, text), (INTEGER, group)) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "replacement", "expected"),
    [
        ("hello", "l", "L", "heLLo"),
        ("axb", "x*", "-", "-a--b-"),
        ("hello world", r"(\w+) (\w+)", "$2 $1", "world hello"),
        ("a1", "(?<d>\\d)", "[${d}$0]", "a[11]"),
        ("ab", "(a)(x)?b", "<$2>", "<>"),
        ("ab", "(a)b", "$11", "a1"),
        ("a.b", r"\.", r"\$\\", "a$\\b"),
        ("ab", "x", "$9", "ab"),
    ],
)
def test_replace(evaluate: Evaluate, text: str, pattern: str, replacement: str, expected: str) -> None:
    assert evaluate("regexp_replace", (STRING, text), (STRING, pattern), (STRING, replacement)) == expected


@pytest.mark.parametrize("replacement", ["$", "$x", "$2", "${x}", "${", "a\\"])
def test_replacements_that_are_wrong(evaluate: Evaluate, replacement: str) -> None:
    with pytest.raises(FunctionError):
        evaluate("regexp_replace", (STRING, "ab"), (STRING, "(a)"), (STRING, replacement))


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("a1b22c", r"\d+", ["a", "b", "c"]),
        (",a,", ",", ["", "a", ""]),
        ("z", "x", ["z"]),
        ("abc", "", ["a", "b", "c"]),
        ("", "", [""]),
        ("aabb", "a*", ["", "", "b", "b"]),
        ("aa", "a*", []),
    ],
)
def test_split(evaluate: Evaluate, text: str, pattern: str, expected: list[str]) -> None:
    assert evaluate("regexp_split_to_array", (STRING, text), (STRING, pattern)) == expected


@pytest.mark.parametrize("name", ["regexp_extract", "regexp_extract_all", "regexp_split_to_array"])
def test_errors_say_the_pattern(evaluate: Evaluate, name: str) -> None:
    with pytest.raises(FunctionError, match=r"Invalid regular expression pattern: \(\("):
        evaluate(name, (STRING, "(("), (STRING, "(("))
