"""Patterns of java.time, against what Java 17 answers."""

from __future__ import annotations

import cloudpickle
import pytest

from millstream.sql.errors import FunctionError
from millstream.sql.functions.java.time import compile_pattern, formatter, timestamp_parser, zone_of

# 2021-07-04T20:05:09.123Z, a Sunday, in the summer of both Paris and Los Angeles.
MOMENT = 1_625_429_109_123
LOS_ANGELES = zone_of("America/Los_Angeles")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2021-07-04T13:05:09.123"),
        ("yy M d H m s S", "21 7 4 13 5 9 1"),
        ("uuuu/DDD", "2021/185"),
        ("MMM MMMM MMMMM LLL", "Jul July J Jul"),
        ("E EEE EEEE EEEEE", "Sun Sun Sunday S"),
        ("e ee eee c cccc", "1 01 Sun 1 Sunday"),
        ("h K k a", "1 1 13 PM"),
        ("G GGGG GGGGG", "AD Anno Domini A"),
        ("Q QQ QQQ QQQQ", "3 03 Q3 3rd quarter"),
        ("YYYY w ww W F", "2021 28 28 2 4"),
        ("A n N", "47109123 123000000 47109123000000"),
        ("X XX XXX XXXX XXXXX", "-07 -0700 -07:00 -0700 -07:00"),
        ("x xxx Z ZZZZ ZZZZZ", "-07 -07:00 -0700 GMT-07:00 -07:00"),
        ("O OOOO", "GMT-7 GMT-07:00"),
        ("z zzzz VV", "PDT Pacific Daylight Time America/Los_Angeles"),
        ("'it''s' ''yyyy''", "it's '2021'"),
        ("[yyyy][ HH]", "2021 13"),
        ("ppppd|ppH", "   4|13"),
        ("SSSSSSSSS", "123000000"),
        ("g", "59399"),
    ],
)
def test_a_moment_is_printed(pattern: str, expected: str) -> None:
    assert formatter(pattern).timestamp(MOMENT, LOS_ANGELES) == expected


def test_no_offset_has_texts_of_its_own() -> None:
    assert formatter("X x xxx Z O ZZZZZ").timestamp(0) == "Z +00 +00:00 +0000 GMT Z"


def test_years_beyond_four_digits_have_a_sign() -> None:
    assert formatter("yyyy-MM-dd").timestamp(253_402_300_800_000) == "+10000-01-01"
    assert formatter("uuuu-MM-dd").date(-719_529) == "-0001-12-31"
    assert formatter("yyyy G").date(-719_529) == "0002 BC"


def test_a_date_has_no_hour_and_a_time_no_year() -> None:
    assert formatter("dd.MM.yy").date(0) == "01.01.70"
    assert formatter("HH:mm[ yyyy]").time(60_000) == "00:01"
    with pytest.raises(FunctionError, match="Unsupported field: HourOfDay"):
        formatter("HH").date(0)
    with pytest.raises(FunctionError, match="Unsupported field: YearOfEra"):
        formatter("yyyy").time(0)
    with pytest.raises(FunctionError, match="Unable to extract ZoneId"):
        formatter("VV").date(0)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("yyyy-MM-dd'T'HH:mm:ss.SSS", "2021-07-04T20:05:09.123", MOMENT),
        ("yyyy-MM-dd'T'HH:mm:ssX", "2021-07-04T22:05:09+02", 1_625_429_109_000),
        ("yyyy-MM-dd't'HH:mm:ssX", "2021-07-04T20:05:09z", 1_625_429_109_000),
        ("yyyyMMddHHmmssSSS", "20210704200509123", MOMENT),
        ("yy-M-d", "21-7-4", 1_625_356_800_000),
        ("uuuuDDD", "2021185", 1_625_356_800_000),
        ("EEE, dd MMM yyyy HH:mm:ss z", "sun, 04 JUL 2021 13:05:09 pdt", 1_625_429_109_000),
        ("yyyy-MM-dd HH:mm VV", "2021-07-04 22:05 Europe/Paris", 1_625_429_100_000),
        ("yyyy-MM-dd h:mm a", "2021-07-04 8:05 pm", 1_625_429_100_000),
        ("yyyy-MM-dd O", "2021-07-04 GMT+2", 1_625_349_600_000),
        ("YYYY-'W'ww-e", "2021-W28-1", 1_625_356_800_000),
        ("yyyy-MM-dd[ HH[:mm]]", "2021-07-04 20", 1_625_428_800_000),
        ("yyyy-MM-dd[ HH[:mm]]", "2021-07-04", 1_625_356_800_000),
        # What is left out is as at the epoch; days that a month has not are its last.
        ("yyyy", "2021", 1_609_459_200_000),
        ("MM-dd", "02-31", 5_011_200_000),
        ("hh:mm", "08:05", 29_100_000),
        ("mm", "05", 300_000),
        ("SSS", "123", 123),
        ("yyyy-MM-dd HH:mm", "2021-07-04 24:00", 1_625_443_200_000),
        ("DDD", "032", 2_678_400_000),
    ],
)
def test_a_text_is_read(pattern: str, text: str, expected: int) -> None:
    assert timestamp_parser(pattern).timestamp(text) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "message"),
    [
        ("yyyy-MM-dd", "2021-7-04", "could not be parsed at index 5"),
        ("yyyy-MM-dd", "2021-07-04Z", "unparsed text found at index 10"),
        ("yyyy-MM-dd", "12021-07-04", "could not be parsed at index 0"),
        ("yyyy-MM-dd", "2021-13-04", "Invalid value for MonthOfYear"),
        ("E yyyy-MM-dd", "Mon 2021-07-04", "Conflict found: Field DayOfWeek 7 differs from DayOfWeek 1"),
        ("HH:mm", "25:00", "Invalid value for HourOfDay"),
        ("yyyy-DDD", "2021-366", "is not a leap year"),
        ("DDD", "366", "Leap day cannot be parsed without supplying the year"),
        ("VV", "Mars/Crater", "could not be parsed at index 0"),
    ],
)
def test_a_text_that_says_nothing_is_refused(pattern: str, text: str, message: str) -> None:
    with pytest.raises(FunctionError, match=message):
        timestamp_parser(pattern).timestamp(text)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("yyyy-MM-dd'T", "incomplete string literal"),
        ("ddd", "Too many pattern letters: d"),
        ("b", "Unknown pattern letter: b"),
        ("yyyy]", "without previous"),
        ("{", "reserved character"),
        ("V", "must be 2"),
        ("yyyypp", "must be followed by valid pad pattern"),
    ],
)
def test_a_pattern_that_means_nothing_is_refused(pattern: str, message: str) -> None:
    with pytest.raises(FunctionError, match=message):
        compile_pattern(pattern)


def test_the_zone_given_counts_unless_the_text_has_one() -> None:
    read = timestamp_parser("yyyy-MM-dd HH:mm[ X]")
    assert read.timestamp("2021-07-04 13:05", LOS_ANGELES) == 1_625_429_100_000
    assert read.timestamp("2021-07-04 20:05 Z", LOS_ANGELES) == 1_625_429_100_000


def test_clocks_turned() -> None:
    read = timestamp_parser("yyyy-MM-dd HH:mm")
    # A time that never was counts with the offset before; of two the one after, as it was that day in 1970.
    assert read.timestamp("2021-03-14 02:30", LOS_ANGELES) == 1_615_717_800_000
    assert read.timestamp("2020-11-01 01:30", LOS_ANGELES) == 1_604_223_000_000
    assert (
        timestamp_parser("yyyy-MM-dd HH:mm VV").timestamp("2020-11-01 01:30 America/Los_Angeles") == 1_604_219_400_000
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Z", 0),
        ("+2", 7200),
        ("-0230", -9000),
        ("+01:30:15", 5415),
        ("UTC-3", -10800),
        ("GMT", 0),
        ("Asia/Tokyo", 32400),
    ],
)
def test_zones(text: str, seconds: int) -> None:
    assert zone_of(text).offset_at(0) == seconds


@pytest.mark.parametrize("text", ["", "A", "PST", "EST", "utc", "+19", "+1:00", "Nowhere/Else", "../etc/passwd"])
def test_zones_that_are_none(text: str) -> None:
    with pytest.raises(FunctionError):
        zone_of(text)


def test_zones_hold_in_years_that_python_does_not_know() -> None:
    shown = formatter("yyyy-MM-dd HH").timestamp(400_000_000_000_000, LOS_ANGELES)
    assert shown == "+14645-06-30 08"
    assert timestamp_parser("yyyy-MM-dd HH").timestamp(shown, LOS_ANGELES) == 399_999_999_600_000


def test_formatters_and_parsers_travel() -> None:
    sent = (formatter("HH"), timestamp_parser("HH"), LOS_ANGELES, zone_of("+02:00"))
    write, read, zone, offset = cloudpickle.loads(cloudpickle.dumps(sent))
    assert write.timestamp(MOMENT, zone) == "13"
    assert read.timestamp("13", offset) == 39_600_000
