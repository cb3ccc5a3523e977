"""Iteration orders, worked out by hand from the hash codes."""

from __future__ import annotations

import random

from millstream.topology.java_collections import TreeSet, hash_order


def test_hash_order_of_a_small_set() -> None:
    # hash codes 97, 98, 99 and 112: buckets 1, 2, 3 and 0
    assert hash_order(["c", "p", "b", "a", "b"]) == ["p", "a", "b", "c"]


def test_equal_buckets_keep_the_order_of_insertion() -> None:
    assert hash_order(["q", "a"]) == ["q", "a"]  # 113 and 97: bucket 1
    assert hash_order(["a", "q"]) == ["a", "q"]


def test_the_table_grows_with_the_thirteenth_name() -> None:
    names = [chr(code) for code in range(ord("a"), ord("a") + 12)]
    assert hash_order(names) == names
    # "p" has hash code 112: bucket 0 of 16, but 16 of 32
    assert hash_order(["p", *names[:11]]) == ["p", *names[:11]]
    assert hash_order(["p", *names]) == [*names, "p"]


def test_a_tree_set_sorts_and_has_no_duplicates() -> None:
    numbers = list(range(200)) * 2
    random.Random(7).shuffle(numbers)
    tree = TreeSet[int](lambda a, b: a - b)
    for number in numbers:
        tree.add(number)
    assert list(tree) == list(range(200))


def test_a_tree_set_is_balanced_when_it_compares() -> None:
    """Five rising numbers leave 2 at the root and 4 on its right, so the sixth is compared with 2, 4 and 5."""
    compared: list[tuple[int, int]] = []

    def compare(a: int, b: int) -> int:
        compared.append((a, b))
        return a - b

    tree = TreeSet[int](compare)
    for number in range(1, 6):
        tree.add(number)
    compared.clear()
    tree.add(6)
    assert compared == [(6, 2), (6, 4), (6, 5)]


def test_a_tree_set_does_not_sort_again() -> None:
    rank = {"a": 1, "b": 2, "c": 3}
    tree = TreeSet[str](lambda a, b: rank[a] - rank[b])
    tree.add("a")
    tree.add("b")
    rank["a"] = 9
    tree.add("c")
    assert list(tree) == ["c", "a", "b"]
