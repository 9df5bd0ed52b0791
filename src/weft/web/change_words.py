"""What people call each kind of change, and how good the news is: one table for pages and scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class ChangeWord(NamedTuple):
    word: str
    kind: str
    """Of a badge: good, bad, warn or plain."""


CHANGE_WORDS: Final[Mapping[str, ChangeWord]] = {
    "page_new": ChangeWord("new page", "good"),
    "page_gone": ChangeWord("page gone", "bad"),
    "page_moved": ChangeWord("moved", "warn"),
    "page_title": ChangeWord("new title", ""),
    "page_text": ChangeWord("new text", ""),
    "new": ChangeWord("new link", "good"),
    "lost": ChangeWord("lost link", "bad"),
    "anchor": ChangeWord("new words", ""),
}
