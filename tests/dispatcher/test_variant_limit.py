"""Variants of pages go a few at a time until it is known whether they differ, and none waits for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.dispatcher.parameters.variant_limit import VariantLimit

MOST = 3


def uri(number: int, names: str = "id") -> str:
    return "com.a/page?" + "&".join(f"{name}={number}" for name in names.split("+"))


def give_all(limit: VariantLimit, count: int, names: str = "id") -> list[int]:
    return [number for number in range(count) if not limit.must_wait(b"com.a", uri(number, names))]


def test_a_few_go_and_the_others_wait() -> None:
    assert give_all(VariantLimit(MOST), 10) == [0, 1, 2]


def test_links_without_parameters_never_wait() -> None:
    limit = VariantLimit(MOST)
    assert not any(limit.must_wait(b"com.a", f"com.a/{number}") for number in range(100))


def test_hosts_and_names_of_parameters_are_counted_apart() -> None:
    limit = VariantLimit(1)
    assert [give_all(limit, 2, names) for names in ("id", "sort", "id+sort", "sort+id")] == [[0], [0], [0], []]
    assert not limit.must_wait(b"com.a", "com.a.www/page?id=1")


def test_nothing_must_wait_if_nothing_is_asked_for() -> None:
    assert len(give_all(VariantLimit(0), 50)) == 50


def test_one_that_came_back_lets_another_go() -> None:
    limit = VariantLimit(MOST)
    give_all(limit, MOST)
    limit.fetch_ended(b"com.a", uri(0))
    assert len(give_all(limit, 10)) == 1


def test_who_comes_back_without_having_been_sent_changes_nothing() -> None:
    limit = VariantLimit(MOST)
    for number in range(50):
        limit.fetch_ended(b"com.a", uri(number))
        limit.fetch_ended(b"com.b", uri(number))
    assert len(give_all(limit, 10)) == MOST


def test_where_parameters_matter_more_and_more_go() -> None:
    limit, rounds, left = VariantLimit(MOST), 0, 10_000
    while left:
        went = len(give_all(limit, left))
        assert went
        left, rounds = left - went, rounds + 1
        for number in range(went):
            limit.fetch_ended(b"com.a", uri(number))
    assert rounds < 110


@given(st.lists(st.tuples(st.sampled_from(["give", "come", "none"]), st.integers(0, 2)), max_size=200))
def test_never_more_than_allowed_is_under_way_and_nothing_waits_when_none_is(history: list[tuple[str, int]]) -> None:
    limit, under_way, came = VariantLimit(MOST), [0, 0, 0], [0, 0, 0]
    for what, kind in history:
        names = "abc"[kind]
        if what == "give":
            must_wait = limit.must_wait(b"com.a", uri(1, names))
            assert must_wait == (under_way[kind] >= max(MOST, came[kind] // 8))
            under_way[kind] += not must_wait
        elif what == "come" and under_way[kind]:
            limit.fetch_ended(b"com.a", uri(1, names))
            under_way[kind], came[kind] = under_way[kind] - 1, came[kind] + 1
        elif what == "none":
            limit.none_is_under_way(b"com.a")
            came = [before + now for before, now in zip(came, under_way, strict=True)]
            under_way = [0, 0, 0]


def test_memory_is_bounded() -> None:
    limit = VariantLimit(MOST)
    for number in range(30_000):
        limit.must_wait(f"com.d{number % 15_000}".encode(), f"com.d{number % 15_000}/?n{number}=1")
        limit.must_wait(b"com.a", f"com.a/?n{number}=1")
    assert len(limit._domains) <= 10_000
    assert all(len(kinds) <= 1000 for kinds in limit._domains.values())
