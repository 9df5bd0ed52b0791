"""Near-duplicates: what the bands find is what comparing with every page finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.linkindex import near_duplicates
from weft.linkindex.near_duplicates import DISTANCE, NearDuplicate, bands, distance, folded, near_cells, near_pages
from weft.store.api import Batch
from weft.store.memory import MemoryStore
from weft.store.tables import Table

SEEDS = st.sampled_from([0x0123456789ABCDEF, 0xFFFFFFFFFFFFFFFF, 1])


@st.composite
def simhashes(draw: st.DrawFn) -> int:
    """Some of them near to each other, 0 for none."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([0, 2**64 - 1, draw(st.integers(0, 2**64 - 1))]))
    simhash = draw(SEEDS)
    for bit in draw(st.lists(st.integers(0, 63), max_size=4)):
        simhash ^= 1 << bit
    return simhash


def store_of(steps: list[tuple[int, int]]) -> tuple[MemoryStore, dict[bytes, int]]:
    """Pages whose simhashes were set, and set again."""
    store, pages = MemoryStore(), dict[bytes, int]()
    for number, simhash in steps:
        uri = b"com.a/%d" % number
        cells = near_cells(uri, pages.get(uri, 0), simhash)
        pages[uri] = simhash
        if cells:
            store.write(Batch(cells), store.last_seq + 1)
    return store, pages


@given(st.lists(st.tuples(st.integers(0, 12), simhashes()), max_size=30), simhashes())
def test_bands_find_what_comparing_with_every_page_finds(steps: list[tuple[int, int]], wanted: int) -> None:
    store, pages = store_of(steps)
    everything = [
        NearDuplicate(distance(wanted, simhash), uri)
        for uri, simhash in pages.items()
        if wanted and simhash and distance(wanted, simhash) <= DISTANCE and uri != b"com.a/0"
    ]
    assert near_pages(store, b"com.a/0", wanted, 1000) == sorted(everything)
    assert near_pages(store, b"com.a/0", wanted, 2) == sorted(everything)[:2]


@given(st.lists(st.tuples(st.integers(0, 5), simhashes()), max_size=30))
def test_nothing_stays_of_what_a_page_was(steps: list[tuple[int, int]]) -> None:
    store, pages = store_of(steps)
    assert len(list(store.scan_rows(Table.LINKS, b"n:"))) == 4 * sum(simhash != 0 for simhash in pages.values())


@given(st.integers(1, 2**64 - 1), st.sets(st.integers(0, 63), max_size=3))
def test_three_bits_cannot_change_all_bands(simhash: int, flipped: set[int]) -> None:
    other = simhash
    for bit in flipped:
        other ^= 1 << bit
    assert set(bands(simhash)) & set(bands(other))


@given(st.lists(simhashes(), max_size=12))
def test_an_item_is_folded_into_the_first_that_is_nearly_the_same(given_: list[int]) -> None:
    kept: list[int] = []
    for number, keeper in enumerate(folded(given_)):
        alike = [each for each in kept if given_[number] and distance(given_[each], given_[number]) <= DISTANCE]
        assert keeper == min((each for each in alike if given_[each]), default=number)
        if keeper == number:
            kept.append(number)


def test_of_pages_that_are_all_alike_so_many_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "LOOKED_AT", 10)
    store, _ = store_of([(number, 5) for number in range(30)])
    assert len(near_pages(store, b"com.b", 5, 1000)) == 10
