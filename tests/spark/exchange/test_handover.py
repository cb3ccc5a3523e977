"""Parcels between lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.errors import StreamsError
from millstream.spark.exchange.handover import Handover, is_by_file
from millstream.spark.exchange.parcels import Bundle, Parcel, pack

LARGE = b"\x95" * 200_000


def test_a_large_parcel_goes_by_file(tmp_path: Path) -> None:
    giver, taker = Handover(tmp_path, 0), Handover(tmp_path, 1)
    sent = giver.give(7, 0, 1, 1, LARGE)
    assert len(sent) < 1_000
    assert taker.take(sent) == LARGE
    assert taker.take(sent) == LARGE  # a wave can be run again
    assert giver.give(7, 0, 1, 1, LARGE) == sent  # and so can the one before it


@pytest.mark.parametrize(("large", "shared"), [(False, True), (True, False)])
def test_others_go_as_they_are(tmp_path: Path, large: bool, shared: bool) -> None:
    handover = Handover(tmp_path if shared else None, 0)
    parcel = LARGE if large else b"\x95small"
    assert handover.give(7, 0, 1, 1, parcel) == parcel
    assert handover.take(parcel) == parcel
    assert list(tmp_path.iterdir()) == []


def test_files_stay_until_their_batch_is_over(tmp_path: Path) -> None:
    mine, other = Handover(tmp_path, 0), Handover(tmp_path, 1)
    before, now = mine.give(6, 0, 1, 1, LARGE), mine.give(7, 0, 1, 1, LARGE)
    others = other.give(6, 0, 1, 1, LARGE)
    mine.forget_before(7)
    assert mine.take(now) == other.take(others) == LARGE
    with pytest.raises(StreamsError, match="are gone"):
        mine.take(before)
    Handover(None, 0).forget_before(7)


def test_what_is_handed_over_by_file_is_known_by_its_first_byte(tmp_path: Path) -> None:
    handover = Handover(tmp_path, 0)
    small = pack(Parcel(1, 7, 5, [], content="c" * 16, membership=b"m" * 200))
    large = pack(Parcel(1, 7, 5, [Bundle("t", 0, 0, [(b"k" * 30_000, None, 5, None, 0)])]))
    sent = [handover.give(7, 0, 0, 1, large), handover.give(7, 0, 0, 1, small)]
    assert [is_by_file(each) for each in sent] == [True, False]
    assert len(sent[0]) < len(sent[1])  # so the smallest is not always one that can be read as it is
    assert [handover.take(each) for each in sent] == [large, small]
