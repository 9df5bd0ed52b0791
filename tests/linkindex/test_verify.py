"""Verify finds what is wrong, all of it, and nothing else."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.small_webs import SAMPLE, naive_cells, page, put_pages
from weft.linkindex import keys
from weft.linkindex import verify as verifying
from weft.linkindex.verify import CellDifference, Verification, differences, verify
from weft.store.api import Batch
from weft.store.encoding import cell_key
from weft.store.memory import MemoryStore
from weft.store.tables import Table

SAMPLE_CELLS = naive_cells(SAMPLE)


def sound_store() -> MemoryStore:
    store = MemoryStore()
    put_pages(store, SAMPLE)
    batch = Batch()
    batch.add(SAMPLE_CELLS)
    store.write(batch, 2)
    return store


def damaged(key: bytes, value: bytes | None) -> MemoryStore:
    store = sound_store()
    batch = Batch()
    batch.add({key: value})
    store.write(batch, 3)
    return store


def test_a_sound_store_has_no_differences(tmp_path: Path) -> None:
    assert verify(sound_store(), "all", tmp_path) == Verification(cells=53, differences=0, examples=())


def test_an_empty_store_is_sound(tmp_path: Path) -> None:
    assert verify(MemoryStore(), "all", tmp_path) == Verification(cells=0, differences=0, examples=())


@pytest.mark.parametrize("key", sorted(SAMPLE_CELLS))
def test_any_missing_cell_is_found(tmp_path: Path, key: bytes) -> None:
    found = verify(damaged(key, None), "all", tmp_path)
    assert (found.cells, found.differences) == (53, 1)
    assert " is missing, expected " in found.examples[0]


@pytest.mark.parametrize("key", sorted(SAMPLE_CELLS))
def test_any_changed_value_is_found(tmp_path: Path, key: bytes) -> None:
    found = verify(damaged(key, SAMPLE_CELLS[key] + b"0"), "all", tmp_path)
    assert (found.cells, found.differences) == (53, 1)
    assert ", expected " in found.examples[0]


@pytest.mark.parametrize(
    "key",
    [
        keys.uri_info(b"com.x", b"com.x"),
        keys.domain_info(b"com.x"),
        keys.totals(63),
        keys.incount(b"com.x"),
        keys.score(b"com.x"),
        keys.query_cur(b"com.c"),
        keys.inlink(b"com.c", b"com.x"),
        keys.rank(b"com.c", 4, b"com.c"),
        keys.pagecount(b"com.x"),
        keys.total(4, b"com.c"),
        keys.by_pages(1, b"com.c"),
        keys.by_references(255, b"com.c"),
        cell_key(Table.QUERY.byte, b"", b"", b""),
        cell_key(Table.QUERY.byte, b"z:\0\xff", b"f\0", b"\0"),
        cell_key(Table.DOMAINS.byte, b"x", b"", b""),
        cell_key(Table.FLUO.byte, b"um:zz", b"info", b""),
    ],
)
def test_any_cell_too_many_is_found(tmp_path: Path, key: bytes) -> None:
    found = verify(damaged(key, b"7"), "all", tmp_path)
    assert (found.cells, found.differences) == (54, 1)
    assert found.examples[0].endswith(" is there with 7, expected nothing")


def test_differences_are_said_in_words_that_scan_prints(tmp_path: Path) -> None:
    store = sound_store()
    batch = Batch()
    batch.add({keys.incount(b"com.c"): b"2", keys.total(3, b"com.c"): None, keys.total(2, b"com.c"): b"2"})
    batch.add({keys.rank(b"com.c", 4, b"com.c"): b"4", keys.inlink(b"com.c", b"com.d"): b"x" * 500})
    store.write(batch, 3)
    found = verify(store, "all", tmp_path)
    assert found.differences == 5
    assert found.examples == (
        "query d:com.c rank:4:com.c is there with 4, expected nothing",
        f"query p:com.c inlinks:com.d is {'x' * 120}… (500 bytes), expected empty",
        "query p:com.c page:incount is 2, expected 3",
        "query t:3:com.c is missing, expected 3",
        "query t:2:com.c is there with 2, expected nothing",
    )


def test_only_the_first_twenty_are_told_but_all_are_counted(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, SAMPLE)
    found = verify(store, "all", tmp_path)
    assert (found.cells, found.differences, len(found.examples)) == (53, 53, 20)
    assert found.examples[0] == "domains p:2:com.c is missing, expected 2 4"


def test_a_changed_page_shows_in_all_that_follows_from_it(tmp_path: Path) -> None:
    store = sound_store()
    put_pages(store, [page("http://d.com")], seq=3)
    examples = verify(store, "all", tmp_path).examples
    assert "query p:com.c inlinks:com.d is there with empty, expected nothing" in examples
    assert "query p:com.c page:incount is 3, expected 2" in examples


def test_counting_otherwise_shows(tmp_path: Path) -> None:
    store = MemoryStore()
    put_pages(store, [page("http://a.com/", "http://a.com/1")])
    batch = Batch()
    batch.add(naive_cells([page("http://a.com/", "http://a.com/1")]))
    store.write(batch, 2)
    assert verify(store, "all", tmp_path).differences == 0
    assert verify(store, "external", tmp_path).differences > 0


def test_progress_is_told_in_pages_then_cells(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    verify(sound_store(), "all", tmp_path, lambda what, number: told.append((what, number)))
    assert told == [("pages", 3), ("cells", 53)]


_sides = st.dictionaries(st.integers(0, 3000).map(b"%04d".__mod__), st.sampled_from([b"", b"1", b"2"]), max_size=50)


@given(shared=st.integers(0, 5000), left=_sides, right=_sides)
def test_two_sides_are_compared_as_two_dicts_would_be(
    shared: int, left: dict[bytes, bytes], right: dict[bytes, bytes]
) -> None:
    """Thousands of equal cells with differences strewn among them: the blocks fall out of step and into it again."""
    common = {b"%04d+" % n: b"" for n in range(shared)}
    expected, held = common | left, common | right
    compared: list[int] = []
    found = list(differences(iter(sorted(expected.items())), iter(sorted(held.items())), compared.append))
    every = expected.keys() | held.keys()
    assert found == [
        CellDifference(key, held.get(key), expected.get(key))
        for key in sorted(every)
        if held.get(key) != expected.get(key)
    ]
    assert sum(compared) == len(every)


@pytest.mark.parametrize("is_missing", [True, False])
def test_after_a_difference_blocks_are_in_step_again(is_missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise one missing cell would make everything after it slow."""
    cells = [(b"%06d" % n, b"") for n in range(10_000)]
    sides = [cells, cells[:500] + cells[501:]]
    expected, held = sides if is_missing else sides[::-1]
    taken_apart = Mock(side_effect=verifying._take)
    monkeypatch.setattr(verifying, "_take", taken_apart)
    found = list(differences(iter(expected), iter(held), lambda _: None))
    assert [difference.key for difference in found] == [b"000500"]
    assert taken_apart.call_count == 2, "both sides of one block"
