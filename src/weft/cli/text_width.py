"""How wide text is on a terminal, where a Chinese character takes two columns and an accent none."""

from __future__ import annotations

import os
import sys

_CUT = "…"


def terminal_width() -> int | None:
    """Columns of the terminal that is written to; None for a file or a pipe, where nothing needs to fit."""
    if not sys.stdout.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except OSError:
        return None


def width_of(text: str) -> int:
    if text.isascii():
        return len(text)
    # Imported when it is needed: most tables are ASCII.
    from rich.cells import cell_len

    return cell_len(text)


def cut(text: str, width: int) -> str:
    """The text if it fits, else its beginning; of a URL both ends, for they tell it from others."""
    if width_of(text) <= width:
        return text
    if width < 2:
        return _CUT[:width]
    if text.startswith(("http://", "https://")):
        tail = (width - 1) // 3
        return _first(text, width - 1 - tail) + _CUT + _first(text[::-1], tail)[::-1]
    return _first(text, width - 1).rstrip() + _CUT


def padded(text: str, width: int, *, is_right: bool = False) -> str:
    space = " " * (width - width_of(text))
    return space + text if is_right else text + space


def lines_of(text: str, width: int) -> list[tuple[int, int]]:
    """Where lines of at most `width` columns begin and end, cut between words; a longer word is cut within."""
    lines, start = [], 0
    while start < len(text):
        end = start + max(1, len(_first(text[start:], width)))
        space = text.rfind(" ", start + 1, end + 1)
        if end < len(text) and space > start:
            end = space
        lines.append((start, end))
        start = end + 1 if text[end : end + 1] == " " else end
    return lines


def _first(text: str, width: int) -> str:
    """As many characters as fit."""
    if text.isascii():
        return text[:width]
    used = 0
    for number, character in enumerate(text):
        used += width_of(character)
        if used > width:
            return text[:number]
    return text
