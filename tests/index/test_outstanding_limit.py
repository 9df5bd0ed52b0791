"""Fewer links are asked for while pages wait for the builder, and only then."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.index.outstanding_limit import BUSY, LATE, OutstandingLimit

rounds = st.lists(st.tuples(st.integers(0, 5000), st.lists(st.integers(0, 60_000), max_size=5)), max_size=60)


@given(st.integers(1, 100_000), rounds)
def test_some_may_always_be_under_way_and_never_too_many(most: int, history: list[tuple[int, list[int]]]) -> None:
    supply = OutstandingLimit(most)
    for took, ages in history:
        supply.after_round(took, ages)
        assert min(most, 200) <= supply.links <= most


def test_pages_that_wait_for_the_builder_make_it_less() -> None:
    supply = OutstandingLimit(50_000)
    before = supply.links
    supply.after_round(BUSY + 1, [LATE + 1] * 3)
    assert supply.links < before


def test_pages_that_wait_for_something_else_do_not() -> None:
    for took, ages in ((BUSY, [LATE * 9]), (BUSY * 9, [LATE]), (BUSY * 9, [])):
        supply = OutstandingLimit(50_000)
        before = supply.links
        supply.after_round(took, ages)
        assert supply.links > before


def test_an_idle_builder_gets_all_that_is_allowed() -> None:
    supply = OutstandingLimit(50_000)
    for _ in range(20):
        supply.after_round(10, [50])
    assert supply.links == 50_000


def test_a_builder_without_work_gets_more_little_by_little() -> None:
    supply = OutstandingLimit(50_000)
    before = supply.links
    for _ in range(100):
        supply.after_rest()
        assert before < supply.links or before == 50_000
        before = supply.links
    assert supply.links == 50_000
