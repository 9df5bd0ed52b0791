"""Tables fit the terminal that they are printed to, and are whole in a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from weft.cli.tables import aligned, fitted
from weft.cli.text_width import cut

HEADER = ("since", "url", "anchor")
ROWS = [
    ("2026-01-31T12:00:00Z", "https://example.com/a/long/path/to/page1", "t" * 500),
    ("2026-01-31T12:00:00Z", "https://例え.jp/", "漢字" * 100),
    ("", "https://example.com/", ""),
]


@pytest.mark.parametrize("room", [80, 40, 20, 5])
def test_no_line_is_wider_than_the_terminal(room: int) -> None:
    lines = list(aligned(HEADER, ROWS, room=room))
    assert max(map(cell_len, lines)) <= room
    assert any("…" in line for line in lines)


def test_a_file_gets_everything() -> None:
    text = "\n".join(aligned(HEADER, ROWS))
    assert "t" * 500 in text
    assert "漢字" * 100 in text


def test_a_wide_terminal_cuts_nothing() -> None:
    assert not any("…" in line for line in aligned(HEADER, ROWS, room=700))


def test_wide_characters_keep_columns_in_line() -> None:
    lines = list(aligned(("a", "b"), [("漢字", "x"), ("four", "x"), ("e\u0301", "x")], room=40))
    assert {cell_len(line[: line.index("x")]) for line in lines[2:]} == {6}


def test_numbers_lean_to_the_right_but_not_names_that_are_digits() -> None:
    rows = [("77806015", "2026", "7"), ("04521398", "9", "12")]
    assert list(aligned(("id", "name", "links", "last used"), [(*row, "-") for row in rows])) == [
        "id        name  links  last used",
        "--------------------------------",
        "77806015  2026      7  -",
        "04521398  9        12  -",
    ]


def test_a_narrow_terminal_gets_a_line_for_each_cell() -> None:
    lines = list(aligned(HEADER, ROWS[2:] + ROWS[:1], room=40))
    assert lines[:3] == ["-" * 40, "url     https://example.com/", "-" * 40]
    assert lines[3] == "since   2026-01-31T12:00:00Z"


def test_short_columns_keep_their_width_and_the_widest_share_the_rest() -> None:
    assert fitted([3, 50, 7, 60], 40) == [3, 15, 7, 15]
    assert fitted([3, 50, 7, 60], 41) == [3, 16, 7, 15]
    assert fitted([3, 5], 40) == [3, 5]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=6), st.integers(6, 200))
def test_widths_fit_and_use_the_room(widths: list[int], room: int) -> None:
    found = fitted(widths, room)
    assert all(given <= max(1, width) for given, width in zip(found, widths, strict=True))
    if sum(widths) > room:
        assert room - len(widths) <= sum(found) <= room + widths.count(0)
    else:
        assert found == widths


def test_a_url_keeps_both_ends() -> None:
    assert cut("https://example.com/a/long/path/page1", 24) == "https://example.…h/page1"
    assert cut("a title that is long", 10) == "a title t…"


@given(st.text(), st.integers(0, 30))
def test_a_cut_text_is_never_too_wide(text: str, width: int) -> None:
    assert cell_len(cut(text, width)) <= max(width, 0)
    assert cell_len(cut("https://" + text, width)) <= max(width, 0)
