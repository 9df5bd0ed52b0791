"""Tables and counts for people, in aligned columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.model.shown_text import shown_text


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 80) -> Iterator[str]:
    """Header, a rule and the rows; a column is as wide as its widest cell, but not wider than `widest`.

    Columns of numbers lean to the right. The last column is never cut or padded, and a cell that is too wide pushes its
    line's rest to the right.
    """
    rows = [[shown_text(cell) for cell in row] for row in rows]
    columns = list(zip(header, *rows, strict=True))
    widths = [min(widest, max(map(len, column))) for column in columns[:-1]]
    lean = [all(cell.isdecimal() for cell in column[1:]) and len(column) > 1 for column in columns[:-1]]
    yield _line(header, widths, lean)
    yield "-" * (sum(widths) + 2 * len(widths) + min(widest, max(map(len, columns[-1]))))
    for row in rows:
        yield _line(row, widths, lean)


def amount(number: int, noun: str) -> str:
    """For example "1 page" or "1,026 pages"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _line(cells: Sequence[str], widths: Sequence[int], lean: Sequence[bool]) -> str:
    padded = [
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, is_number in zip(cells, widths, lean, strict=False)
    ]
    return "  ".join([*padded, cells[-1]]).rstrip()
