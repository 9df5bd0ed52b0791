"""Cursors lead through a listing, forward and backward, even while it changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.answers.paging import page
from weft.errors import UsageError


class Listing:
    """A sorted listing that scans as the store does."""

    def __init__(self, keys: set[bytes]) -> None:
        self.keys = keys

    def __call__(self, start: bytes | None, *, reverse: bool) -> Iterator[bytes]:
        wanted = sorted(self.keys, reverse=reverse)
        return (key for key in wanted if start is None or (key <= start if reverse else key >= start))


def identity(key: bytes) -> bytes:
    return key


keys = st.sets(st.binary(max_size=3), max_size=20)


@given(keys=keys, limit=st.integers(1, 7))
def test_next_leads_through_everything_once_and_prev_leads_back(keys: set[bytes], limit: int) -> None:
    listing = Listing(keys)
    pages, cursor = [], None
    while True:
        found = page("x", listing, identity, limit, cursor)
        pages.append(found.items)
        cursor = found.next
        if cursor is None:
            break
    assert [key for items in pages for key in items] == sorted(keys)
    back = [found.items]
    while found.prev is not None:
        found = page("x", listing, identity, limit, found.prev)
        back.insert(0, found.items)
    assert [key for items in back for key in items] == sorted(keys)
    assert found.prev is None


@given(keys=keys, gone=st.binary(max_size=3), limit=st.integers(1, 3))
def test_a_cursor_still_leads_on_when_its_item_is_gone(keys: set[bytes], gone: bytes, limit: int) -> None:
    listing = Listing(keys | {gone})
    cursor = page("x", listing, identity, 1, None).next
    first = min(listing.keys)
    listing.keys.discard(first)
    if cursor is not None:
        assert page("x", listing, identity, 100, cursor).items == sorted(listing.keys)
        assert page("x", listing, identity, limit, cursor).prev is None


def test_a_cursor_of_another_listing_is_refused() -> None:
    cursor = page("x", Listing({b"a", b"b"}), identity, 1, None).next
    with pytest.raises(UsageError, match="not a cursor of this listing"):
        page("y", Listing({b"a", b"b"}), identity, 1, cursor)


@pytest.mark.parametrize("cursor", ["x", "!", "Pz8", "é", "AAAA"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="not a cursor"):
        page("x", Listing({b"a"}), identity, 1, cursor)
