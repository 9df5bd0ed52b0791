"""Tables for people: aligned columns of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], widest: int = 80) -> Iterator[str]:
    """Header, a rule and the rows; a column is as wide as its widest cell, but not wider than `widest`.

    The last column is never cut or padded, and a cell that is too wide pushes its line's rest to the right.
    """
    columns = list(zip(header, *rows, strict=True))
    widths = [min(widest, max(map(len, column))) for column in columns[:-1]]
    yield _line(header, widths)
    yield "-" * (sum(widths) + 2 * len(widths) + min(widest, max(map(len, columns[-1]))))
    for row in rows:
        yield _line(row, widths)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*padded, cells[-1]]).rstrip()
