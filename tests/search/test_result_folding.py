"""Folding and paging: every page of the web is counted once, every result is on exactly one page of results."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.linkindex.near_duplicates import DISTANCE, distance
from weft.search.result_folding import Candidate, Folded, ResultPage, fold, page_of


def candidate(key: int, group: int | None = None, simhash: int = 0, domain: int = 1) -> Candidate:
    return Candidate(1.0, key, key if group is None else group, simhash, domain, 0)


CANDIDATES = st.lists(
    st.builds(
        candidate,
        st.integers(1, 30),
        st.none() | st.integers(1, 5),
        st.sampled_from([0, 0, 0b1, 0b11, 0b1111, 0b11111111, 2**64 - 1, 2**63]),
        st.integers(1, 4),
    ),
    max_size=40,
    unique_by=lambda one: one.key,
)
FOLDED = CANDIDATES.map(lambda candidates: [Folded(one, 0) for one in candidates])
LIMITS = st.integers(1, 7)
BOUNDS = st.integers(0, 3)


def keys(folded: list[Folded]) -> list[int]:
    return [one.candidate.key for one in folded]


def pages(folded: list[Folded], limit: int, per_domain: int) -> list[ResultPage]:
    found = [page_of(folded, limit, per_domain, None)]
    while found[-1].next is not None:
        found.append(page_of(folded, limit, per_domain, found[-1].next))
    return found


def test_pages_with_one_canonical_page_are_one_result() -> None:
    alike = [candidate(7, 5), candidate(1), candidate(5, 5), candidate(8, 5), candidate(9, 3), candidate(10, 3)]
    assert fold(alike) == [Folded(alike[2], 2), Folded(alike[1], 0), Folded(alike[4], 1)]


def test_near_duplicates_fold_into_the_first() -> None:
    alike = [candidate(1, simhash=0b1), candidate(2), candidate(3, simhash=0b1111), candidate(4, simhash=0b11111)]
    assert fold(alike) == [Folded(alike[0], 1), Folded(alike[1], 0), Folded(alike[3], 0)]


def test_a_group_that_folds_takes_its_members_with_it() -> None:
    alike = [candidate(1, simhash=1), candidate(2, 9, simhash=1), candidate(3, 9, simhash=1)]
    assert fold(alike) == [Folded(alike[0], 2)]


def test_a_page_that_is_found_twice_is_counted_once() -> None:
    assert fold([candidate(1), candidate(1)]) == [Folded(candidate(1), 0)]


@given(CANDIDATES)
def test_everything_is_shown_or_folded(candidates: list[Candidate]) -> None:
    folded = fold(candidates)
    assert sum(1 + one.folded for one in folded) == len(candidates)
    assert {one.candidate for one in folded} <= set(candidates)
    shown = [one.candidate for one in folded]
    assert len({one.group for one in shown}) == len(shown)
    hashes = [one.simhash for one in shown if one.simhash]
    assert all(distance(one, other) > DISTANCE for at, one in enumerate(hashes) for other in hashes[:at])


@given(CANDIDATES)
def test_results_stand_where_the_best_of_their_group_stood(candidates: list[Candidate]) -> None:
    places: dict[int, int] = {}
    for place, one in enumerate(candidates):
        places.setdefault(one.group, place)
    shown = [places[one.candidate.group] for one in fold(candidates)]
    assert shown == sorted(shown)


@given(CANDIDATES)
def test_the_canonical_page_is_shown_if_it_was_found(candidates: list[Candidate]) -> None:
    canonical = {one.group for one in candidates if one.key == one.group}
    assert all(one.candidate.key == one.candidate.group for one in fold(candidates) if one.candidate.group in canonical)


@given(FOLDED, LIMITS, BOUNDS)
def test_every_result_is_on_exactly_one_page(folded: list[Folded], limit: int, per_domain: int) -> None:
    shown = [key for page in pages(folded, limit, per_domain) for key in keys(page.items)]
    assert sorted(shown) == sorted(keys(folded))


@given(FOLDED, LIMITS, BOUNDS)
def test_pages_hold_their_bounds_and_the_order(folded: list[Folded], limit: int, per_domain: int) -> None:
    order = keys(folded)
    found = pages(folded, limit, per_domain)
    for page in found:
        domains = [one.candidate.domain for one in page.items]
        assert len(page.items) <= limit
        assert not per_domain or all(domains.count(domain) <= per_domain for domain in domains)
        places = [order.index(key) for key in keys(page.items)]
        assert places == sorted(places)
        assert page.is_full == (len(page.items) == limit)
    assert all(page.items for page in found) or not folded


@given(FOLDED, LIMITS, BOUNDS)
def test_a_page_leaves_out_only_what_it_may_not_show(folded: list[Folded], limit: int, per_domain: int) -> None:
    rest = list(folded)
    for page in pages(folded, limit, per_domain):
        expected: list[Folded] = []
        for one in rest:
            same = sum(other.candidate.domain == one.candidate.domain for other in expected)
            if len(expected) < limit and (not per_domain or same < per_domain):
                expected.append(one)
        assert page.items == expected
        rest = [one for one in rest if one not in expected]
    assert not rest


@given(FOLDED, LIMITS, BOUNDS)
def test_back_leads_to_the_same_page(folded: list[Folded], limit: int, per_domain: int) -> None:
    found = pages(folded, limit, per_domain)
    assert found[0].prev is None
    for before, page in pairwise(found):
        assert page.prev is not None
        assert page_of(folded, limit, per_domain, page.prev) == before


@given(FOLDED, LIMITS, BOUNDS, st.integers(0, 40))
def test_a_full_page_stays_as_it_is_when_more_is_found(
    folded: list[Folded], limit: int, per_domain: int, known: int
) -> None:
    longer = pages(folded, limit, per_domain)
    for number, page in enumerate(pages(folded[:known], limit, per_domain)):
        assert keys(longer[number].items)[: len(page.items)] == keys(page.items)
        if page.is_full:
            assert longer[number].items == page.items


def test_beyond_the_end_is_nothing_but_the_way_back() -> None:
    folded = [Folded(candidate(key), 0) for key in range(1, 6)]
    assert page_of(folded, 2, 0, "99") == ResultPage([], None, "3", is_full=False)
    assert page_of([], 2, 0, None) == ResultPage([], None, None, is_full=False)
    assert page_of([], 2, 0, "2").prev == "1"


@pytest.mark.parametrize("cursor", ["", "0", "-1", "x", "1e3", "٣", "9" * 5000, "1 "])
def test_other_cursors_are_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        page_of([], 10, 2, cursor)


def test_a_thousand_results_take_no_time() -> None:
    alike = [candidate(key, simhash=key << 20, domain=key % 2) for key in range(1, 1001)]
    folded = fold(alike)
    assert len(pages(folded, 10, 1)[0].items) == 2
