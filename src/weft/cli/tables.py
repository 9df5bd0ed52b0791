"""Tables and counts for people, in aligned columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from weft.cli.text_width import cut, padded, width_of
from weft.model.shown_text import shown_text

_GAP = 2
_FIGURES = re.compile(r"[0-9TZ:.,+-]*")
_READABLE = 14
"""A column that must be cut is no narrower than this; else each row becomes a block of lines."""
_NAMES = ("id", "name")
"""Columns that do not lean, though all of their cells may be digits today."""


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 80, room: int | None = None
) -> Iterator[str]:
    """Header, a rule and the rows. Columns of numbers lean to the right.

    Without `room`, as in a file, nothing is cut: a column is as wide as its widest cell but not wider than `widest`,
    and a cell that is too wide pushes its line's rest to the right. In a terminal of `room` columns no line is longer:
    the widest columns are cut, and where that leaves too little of them, each row is a block of lines.
    """
    rows = [[shown_text(cell) for cell in row] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    natural = [max(map(width_of, column)) for column in columns]
    if room is None:
        return _lines(header, rows, [min(widest, width) for width in natural])
    widths = _widths(columns, natural, room - _GAP * (len(header) - 1))
    if all(given >= min(width, _READABLE) for given, width in zip(widths, natural, strict=True)):
        kept = [[cut(cell, width) for cell, width in zip(row, widths, strict=True)] for row in [header, *rows]]
        return _lines(kept[0], kept[1:], widths)
    return _blocks(header, rows, room)


def amount(number: int, noun: str) -> str:
    """For example "1 page" or "1,026 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def fitted(widths: Sequence[int], room: int) -> list[int]:
    """Widths that fit into `room` together: the widest are cut to one width, and the others stay."""
    if sum(widths) <= room:
        return list(widths)
    rising = sorted(widths)
    before = [0, *accumulate(rising)]
    # The first column that cannot have an equal share of what the narrower ones leave.
    first = next(n for n in range(len(rising)) if before[n] + rising[n] * (len(rising) - n) > room)
    share, rest = divmod(max(0, room - before[first]), len(rising) - first)
    fits = []
    for width in widths:
        more = 1 if width > share and rest else 0
        fits.append(max(1, min(width, share + more)))
        rest -= more
    return fits


def _widths(columns: Sequence[Sequence[str]], natural: Sequence[int], room: int) -> list[int]:
    """Widths that fit; numbers, dates and short columns are not cut while something else can be."""
    is_kept = [
        width < _READABLE or all(map(_FIGURES.fullmatch, column[1:]))
        for column, width in zip(columns, natural, strict=True)
    ]
    others = [width for width, kept in zip(natural, is_kept, strict=True) if not kept]
    rest = room - sum(natural) + sum(others)
    if rest < sum(min(width, _READABLE) for width in others):
        return fitted(natural, room)
    remaining = iter(fitted(others, rest))
    return [width if kept else next(remaining) for width, kept in zip(natural, is_kept, strict=True)]


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    columns = zip(*rows, strict=True) if rows else [()] * len(header)
    lean = [
        bool(cells) and name not in _NAMES and all(cell.isdecimal() for cell in cells)
        for name, cells in zip(header, columns, strict=True)
    ]
    yield _line(header, widths[:-1], lean)
    yield "-" * (sum(widths) + _GAP * (len(widths) - 1))
    for row in rows:
        yield _line(row, widths[:-1], lean)


def _line(cells: Sequence[str], widths: Sequence[int], lean: Sequence[bool]) -> str:
    """The last cell is never padded."""
    placed = [
        padded(cell, width, is_right=is_number) for cell, width, is_number in zip(cells, widths, lean, strict=False)
    ]
    return (" " * _GAP).join([*placed, cells[-1]]).rstrip()


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """For a narrow terminal: a line for each cell that is not empty."""
    names = max(map(width_of, header))
    yield "-" * room
    for row in rows:
        for name, cell in zip(header, row, strict=True):
            if cell:
                yield cut(f"{padded(name, names)}{' ' * _GAP}{cut(cell, max(1, room - names - _GAP))}", room)
        yield "-" * room
