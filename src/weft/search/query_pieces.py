"""From the text of a query to its pieces: signs, fields, phrases, words and operators, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.search.search_query import OR

FIELDS: Final = ("site", "intitle", "inurl", "lang", "after", "before")
QUOTES: Final = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02'
"""Text processors turn straight quotation marks into these."""
# Halves of surrogate pairs come from broken programs; no page has them.
_AS_SPACES: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_BETWEEN: Final = re.compile(r"[\s()]*")
_HEAD: Final = re.compile(rf"([-+]*)[(+-]*(?:({'|'.join(FIELDS)}):[(+-]*)?", re.IGNORECASE | re.ASCII)
_QUOTE: Final = re.compile(f"[{QUOTES}]")
_PHRASE: Final = re.compile(f"[{QUOTES}]([^{QUOTES}]*)[{QUOTES}]")
# A mark that ends a number is an inch.
_BARE: Final = re.compile(rf'([^\s()|{QUOTES}]*)(?:(?<=[0-9])"(?![^\s()|]))?')
# Paths may have parentheses.
_BARE_SITE: Final = re.compile(rf"[^\s|{QUOTES}]*")


class Piece(NamedTuple):
    text: str
    """Without quotation marks; of an operator or a parenthesis, itself."""
    is_excluded: bool = False
    field: str = ""
    """One of FIELDS, or none."""
    is_quoted: bool = False
    is_or: bool = False
    is_parenthesis: bool = False
    before_quote: bool = False
    """Whether a phrase follows without a space."""


class Pieces(NamedTuple):
    pieces: list[Piece]
    has_lone_quote: bool


def cut(text: str) -> Pieces:
    reader = _Reader(_AS_SPACES.sub(" ", text))
    return Pieces(list(reader.read()), reader.has_lone_quote)


def parentheses_matter(pieces: list[Piece]) -> bool:
    """Whether a query means something else without its parentheses.

    They change nothing around alternatives, nor around words that must all match, unless these are alternatives
    together or excluded together.
    """
    has_or = any(piece.is_or for piece in pieces)
    # What stands before the parenthesis, the number of pieces in it, and of ORs between them.
    outer: list[tuple[str, int, int]] = []
    sign, size, gaps = "(", 0, 0
    for piece in pieces:
        if piece.is_or:
            gaps += 1
        elif not piece.is_parenthesis:
            size += 1
        elif piece.text != ")":
            outer.append((sign, size + 1, gaps))
            sign, size, gaps = piece.text, 0, 0
        elif outer:
            if size > 1 and (sign != "(" or (has_or and gaps < size - 1)):
                return True
            sign, size, gaps = outer.pop()
    return False


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.has_lone_quote = False

    def read(self) -> Iterator[Piece]:
        while True:
            for character in self._take(_BETWEEN)[0]:
                if not character.isspace():
                    yield Piece(character, is_parenthesis=True)
            if self._at >= len(self._text):
                return
            if self._text[self._at] == "|":
                self._at += 1
                yield Piece("|", is_or=True)
            else:
                yield from self._read_piece()

    def _read_piece(self) -> Iterator[Piece]:
        begin = self._at
        head = self._take(_HEAD)
        if self._is_at_lone_quote():
            # Without it this is read as if it had never been there.
            self._text = self._text[: self._at] + self._text[self._at + 1 :]
            self.has_lone_quote, self._at = True, begin
            return
        if "(" in head[0]:
            yield Piece(head[0], is_parenthesis=True)
        yield self._read_body(head)

    def _read_body(self, head: re.Match[str]) -> Piece:
        is_excluded, name = head[1] == "-", (head[2] or "").lower()
        if phrase := _PHRASE.match(self._text, self._at):
            self._at = phrase.end()
            return Piece(" ".join(phrase[1].split()), is_excluded, name, is_quoted=True)
        bare = self._read_site() if name == "site" else self._take(_BARE)[1]
        before_quote = _QUOTE.match(self._text, self._at) is not None
        return Piece(bare, is_excluded, name, is_or=bare == OR and not head[0], before_quote=before_quote)

    def _is_at_lone_quote(self) -> bool:
        return bool(_QUOTE.match(self._text, self._at) and not _PHRASE.match(self._text, self._at))

    def _read_site(self) -> str:
        bare = self._take(_BARE_SITE)[0]
        closing = len(bare) - len(bare.rstrip(")"))
        unopened = min(closing, max(0, bare.count(")") - bare.count("(")))
        return bare[: len(bare) - unopened]

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        assert found is not None  # noqa: S101 - all of them match the empty text
        self._at = found.end()
        return found
