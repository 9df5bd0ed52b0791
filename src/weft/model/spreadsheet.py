"""Text from the web in a spreadsheet: no cell is taken for a formula."""

from __future__ import annotations

from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a cell begins that a spreadsheet takes for a formula, the wide forms too."""


def spreadsheet_cell(text: str) -> str:
    """A text that a spreadsheet would run begins with an apostrophe, which it hides."""
    return f"'{text}" if text.startswith(_FORMULA) else text
