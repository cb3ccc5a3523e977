"""Records on their way from lane to lane."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from millstream.spark.exchange.merging import merged
from millstream.spark.exchange.parcels import Bundle, Parcel, pack, unpack


def bundle(origin: int, *times: int) -> Bundle:
    return Bundle("t", 0, origin, [(b"k", f"{origin}:{n}".encode(), time, None, n) for n, time in enumerate(times)])


def test_a_parcel_comes_back_as_it_was() -> None:
    records = [(b"k", None, 5, [("h", b"1"), ("g", None)], 3), (None, b"v", 6, None, 4)]
    parcel = Parcel(1, 7, 99, [Bundle("t", 2, 0, records)], {"lane": 1})

    assert unpack(pack(parcel)) == parcel


def test_origins_are_merged_by_time() -> None:
    parcels = [Parcel(1, 1, 0, [bundle(1, 2, 4)]), Parcel(1, 1, 0, [bundle(0, 1, 2, 9)])]

    values = [record[1] for record in merged(parcels)["t", 0]]

    assert values == [b"0:0", b"0:1", b"1:0", b"1:1", b"0:2"]


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=8), min_size=1, max_size=4), st.randoms())
def test_the_order_does_not_depend_on_how_parcels_come_and_keeps_each_origins(
    times: list[list[int]], random: Random
) -> None:
    bundles = [bundle(origin, *found) for origin, found in enumerate(times)]
    shuffled = list(bundles)
    random.shuffle(shuffled)

    result = merged([Parcel(1, 1, 0, bundles)])["t", 0]

    assert merged([Parcel(1, 1, 0, [one]) for one in shuffled])["t", 0] == result
    for origin, found in enumerate(times):
        mine = [record for record in result if (record[1] or b"").startswith(b"%d:" % origin)]
        assert [record[2] for record in mine] == found
