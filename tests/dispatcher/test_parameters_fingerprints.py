"""Both errors of the fingerprint, over generated and archived pages: neither happens where it is promised."""

from __future__ import annotations

from random import Random

import pytest

import rules_fingerprints as measured


@pytest.mark.parametrize("change", measured.CHANGES)
def test_what_changes_with_each_visit_does_not_change_the_fingerprint(change: str) -> None:
    assert len({measured.generated(1, measured.CHANGES[change](Random(n))) for n in range(5)}) > 1
    assert measured.looking_changed(measured.CHANGES[change], pages=40) == 0


def test_words_that_change_do_change_it() -> None:
    assert measured.looking_changed(measured.BEYOND["advertisements in words"], pages=10) == 10


def test_pages_that_differ_in_one_number_have_fingerprints_of_their_own() -> None:
    pages = {str(n): measured.generated(n, measured.Passing()) for n in range(300)}
    assert measured.looking_the_same(pages) == 0
    assert measured.looking_the_same({**pages, "copy": pages["0"]}) == 1


def test_archived_pages_are_told_apart_and_are_the_same_in_other_markup() -> None:
    pages = measured.archived()
    if not pages:
        pytest.skip(f"no archives at {measured.SUITES}; WEFT_SUITES names the folder")
    assert measured.looking_the_same(pages) == 0
    for body in pages.values():
        other = measured.disturbed(body, 5)
        assert other != body
        assert measured.fingerprint_of(other) == measured.fingerprint_of(body)
