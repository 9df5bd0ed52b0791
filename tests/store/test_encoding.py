"""Keys and counts sort the way we read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.store.encoding import (
    after,
    cell_key,
    descending,
    row_key,
    rows_key,
    split_descending,
    split_key,
)

part = st.lists(st.sampled_from([b"\x00", b"\x01", b"\xff", b"a", b"b"]), max_size=4).map(b"".join) | st.binary(
    max_size=6
)
column = st.tuples(st.sampled_from([b"f", b"q"]), part, part, part)


@given(column)
def test_a_key_can_be_taken_apart(parts: tuple[bytes, bytes, bytes, bytes]) -> None:
    assert split_key(cell_key(*parts)) == parts


@given(column, column)
def test_keys_sort_like_their_parts(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> None:
    assert (cell_key(*one) < cell_key(*other)) == (one < other)


@given(part, part, part, part)
def test_a_row_key_begins_exactly_the_keys_of_its_row(
    row: bytes, other: bytes, family: bytes, qualifier: bytes
) -> None:
    assert cell_key(b"q", other, family, qualifier).startswith(row_key(b"q", row)) == (other == row)


@given(part, part)
def test_a_rows_key_begins_exactly_the_rows_with_that_prefix(prefix: bytes, row: bytes) -> None:
    assert row_key(b"q", row).startswith(rows_key(b"q", prefix)) == row.startswith(prefix)


@given(st.binary(min_size=1, max_size=5).filter(lambda data: data.strip(b"\xff")), st.binary(max_size=5))
def test_after_lies_just_above_every_key_with_the_prefix(prefix: bytes, rest: bytes) -> None:
    assert prefix + rest < after(prefix)
    assert not after(prefix).startswith(prefix)


def test_nothing_lies_above_a_prefix_of_ff_bytes() -> None:
    with pytest.raises(ValueError, match="0xff"):
        after(b"\xff\xff")


counts = st.integers(0, 300) | st.integers(2**16 - 600, 2**16 + 600) | st.integers(0, 2**70)


@given(counts, counts, part, part)
def test_the_larger_count_sorts_first_and_ties_go_by_what_follows(a: int, b: int, x: bytes, y: bytes) -> None:
    assert (descending(a) + x < descending(b) + y) == ((-a, x) < (-b, y))


@given(counts)
def test_a_count_holds_no_zero_byte(count: int) -> None:
    assert 0 not in descending(count)


@given(counts, part)
def test_a_count_can_be_read_back(count: int, rest: bytes) -> None:
    assert split_descending(descending(count) + rest) == (count, rest)


def test_a_count_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="-1 is not a count"):
        descending(-1)
