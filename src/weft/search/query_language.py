"""The language of queries. Whatever is typed means something: what does not parse is words, and a note says so.

full text              pages with both words          site:example.org       of a domain, a host or host/path
"full text"            the words in a row             intitle:word           in the title; inurl: in the URL
-word  -"a phrase"     pages without it               lang:de                in a language
one OR other           pages with either; also |      after:2024 before:3m   changed in this time
cat*                   words that begin so
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from weft.errors import UsageError
from weft.search.query_dates import EXPECTED as EXPECTED_DATE
from weft.search.query_dates import start_of
from weft.search.query_pieces import FIELDS, Piece, cut, parentheses_matter
from weft.search.query_terms import LONGEST_SITE, languages_of, number_of_words, phrase_term, shown, site_of, word_term
from weft.search.search_query import OR, Field, Kind, SearchQuery, Term, key, render

__all__ = ["Field", "Kind", "SearchQuery", "Term", "key", "parse", "render"]

LONGEST_QUERY: Final = 2_048
"""Characters: a paragraph. Longer ones do not fit into a URL, and no page has all their words."""
MOST_TERMS: Final = 32
"""Words and phrases, excluded ones too. Each is looked up in every field of every shard."""
MOST_WORDS: Final = 96
"""Of all terms together: a common word in every one of many phrases would be seconds of work on each shard."""
MOST_ALTERNATIVES: Final = 8
"""In one OR group: its matches are the sum of theirs."""
MOST_FILTERS: Final = 16
"""Sites and languages together, excluded ones too."""
_TERM_FIELDS: Final = {"": Field.ANY, "intitle": Field.TITLE, "inurl": Field.URL}
_FIELD_LIST: Final = ", ".join(f"{name}:" for name in FIELDS)
# A port or a time (`localhost:8080`), a path (`http://`, `c:\`) and a namespace (`std::vector`) make no field.
_UNKNOWN_FIELD: Final = re.compile(r"([A-Za-z]{2,30}):(?![:/\\0-9])(.*)", re.DOTALL)
_SCHEMES: Final = frozenset({"about", "data", "doi", "javascript", "mailto", "tel", "urn"})
_BETWEEN_WORDS: Final = re.compile(r"[\s():|]+")
_CAN_BE_EITHER: Final = ("word", "site", "lang")
_OR_NOTE: Final = f"{OR} works only between words and phrases; it was ignored elsewhere"


def parse(text: str, today: date | None = None) -> SearchQuery:
    """Read a query. Times ago are counted from `today`, by default the current day (UTC).

    Raises UsageError if the text is too long or says nothing about the pages that are wanted.
    """
    if len(text) > LONGEST_QUERY:
        raise UsageError(f"a query may have at most {LONGEST_QUERY:,} characters; this one has {len(text):,}")
    found = cut(text)
    reader = _Reader(today)
    for piece in found.pieces:
        reader.add(piece)
    reader.end()
    if found.has_lone_quote:
        reader.note("a quotation mark has no partner; it was ignored")
    if parentheses_matter(found.pieces):
        reader.note("parentheses are not supported; they were ignored")
    return _sensible(reader.query())


def _sensible(query: SearchQuery) -> SearchQuery:
    if query.groups or query.has_filters:
        return query
    expected = 'at least one word, a "phrase" or a filter such as site:example.org'
    if query.excluded or query.not_sites or query.not_languages:
        raise UsageError(f"the query only says what to leave out; expected {expected} to search for")
    raise UsageError(f"there is nothing to search for in the query; expected {expected}")


class _Reader:
    """Takes pieces from left to right."""

    def __init__(self, today: date | None) -> None:
        self._today = today
        self._groups: list[list[Term]] = []
        self._filters: dict[tuple[str, bool], dict[str, None]] = {}
        self._excluded: dict[Term, None] = {}
        self._after: int | None = None
        self._before: int | None = None
        self._notes: dict[str, None] = {}
        self._operator = ""
        """An OR that waits for its right side."""
        self._last = ""
        """What stands left of it: `word`, `excluded`, the name of a filter, or nothing yet."""
        self._terms, self._words = 0, 0.0

    def note(self, note: str) -> None:
        self._notes[note] = None

    def query(self) -> SearchQuery:
        if self._after is not None and self._before is not None and self._after >= self._before:
            self.note("no page is both after the one date and before the other")
        return SearchQuery(
            groups=tuple(map(tuple, self._groups)),
            excluded=tuple(self._excluded),
            sites=self._values("site"),
            not_sites=self._values("site", is_excluded=True),
            languages=self._values("lang"),
            not_languages=self._values("lang", is_excluded=True),
            after=self._after,
            before=self._before,
            notes=tuple(self._notes),
        )

    def _values(self, name: str, *, is_excluded: bool = False) -> tuple[str, ...]:
        return tuple(self._filters.get((name, is_excluded), ()))

    def add(self, piece: Piece) -> None:
        if piece.is_parenthesis:
            return
        if piece.is_or:
            self._operator = OR if self._operator == OR else piece.text
        elif piece.field and not piece.text:
            self.note(f'"{piece.field}:" needs a value right behind it; took it as a word')
            self._add_word(piece.field, piece)
        elif piece.field in _TERM_FIELDS:
            self._add_term(piece)
        elif not self._add_filter(piece):
            self._add_words(f"{piece.field}:{piece.text}", piece)

    def end(self) -> None:
        self._join("")

    def _add_term(self, piece: Piece) -> None:
        unknown = None if piece.field or piece.is_quoted else _UNKNOWN_FIELD.fullmatch(piece.text)
        if piece.is_quoted:
            self._put(phrase_term(piece.text, _TERM_FIELDS[piece.field], self.note), piece)
        elif unknown and unknown[1].lower() not in _SCHEMES and (unknown[2] or piece.before_quote):
            done = "left out pages with" if piece.is_excluded else "searched for"
            self.note(f'there is no field "{unknown[1]}:"; {done} its words (fields: {_FIELD_LIST})')
            self._add_words(piece.text, piece)
        else:
            self._add_word(piece.text, piece, _TERM_FIELDS[piece.field])

    def _add_words(self, text: str, piece: Piece) -> None:
        """The words of something that is no filter."""
        words = _BETWEEN_WORDS.sub(" ", text).strip()
        if piece.is_excluded:
            # Each on its own would leave out much more than was meant.
            self._put(phrase_term(words, Field.ANY, self.note), piece)
        else:
            for word in words.split():
                self._add_word(word, piece)

    def _add_word(self, text: str, piece: Piece, field: Field = Field.ANY) -> None:
        self._put(word_term(text, field, self.note), piece)

    def _put(self, term: Term | None, piece: Piece) -> None:
        if term is None:
            return
        if piece.is_excluded:
            self._join("excluded")
            if term not in self._excluded and self._has_room(term):
                self._excluded[term] = None
        elif not self._join("word"):
            self._put_alone(term)
        elif len(self._groups[-1]) >= MOST_ALTERNATIVES:
            self.note(f"only the first {MOST_ALTERNATIVES} alternatives of an OR are used")
        elif term not in self._groups[-1] and self._has_room(term):
            self._groups[-1].append(term)

    def _put_alone(self, term: Term) -> None:
        if self._has_room(term):
            self._groups.append([term])

    def _has_room(self, term: Term) -> bool:
        if self._terms == MOST_TERMS:
            self.note(f"only the first {MOST_TERMS} words and phrases are used")
            return False
        words = number_of_words(term.text)
        if self._words + words > MOST_WORDS:
            self.note(f"all words and phrases together may have at most {MOST_WORDS} words; some were left out")
            return False
        self._terms, self._words = self._terms + 1, self._words + words
        return True

    def _join(self, what: str) -> bool:
        """Whether this is an alternative to what stands before it; an OR that joins nothing is a word."""
        operator, left = self._operator, self._last
        self._operator, self._last = "", what or left
        if not operator:
            return False
        if what and left:
            if what != left or what not in _CAN_BE_EITHER:
                self.note(_OR_NOTE)
            return what == left == "word"
        if operator == OR:
            self.note(f"{OR} needs a word on both sides; searched for it as a word")
            self._put_alone(Term(Kind.WORD, operator))
        return False

    def _add_filter(self, piece: Piece) -> bool:
        name = piece.field
        values = [site_of(piece.text)] if name == "site" else languages_of(piece.text) if name == "lang" else None
        instant = start_of(piece.text, self._today) if name in ("after", "before") else None
        if instant is not None:
            self._join(name)
            self._bound(instant, is_after=(name == "after") is not piece.is_excluded)
        elif values and None not in values:
            self._join(f"-{name}" if piece.is_excluded else name)
            if name == "site" and len(values[0] or "") > LONGEST_SITE:
                self.note(f"only the first {LONGEST_SITE} characters of a site are compared")
            for value in values:
                self._keep(name, value or "", is_excluded=piece.is_excluded)
        else:
            self.note(f"{name}: expects {_EXPECTED[name]}; took {shown(piece.text)} as words")
            return False
        return True

    def _bound(self, instant: int, *, is_after: bool) -> None:
        """All bounds hold, so that the narrowest counts. What is not after a date is before it."""
        if is_after:
            self._after = instant if self._after is None else max(self._after, instant)
        else:
            self._before = instant if self._before is None else min(self._before, instant)

    def _keep(self, name: str, value: str, *, is_excluded: bool) -> None:
        kept = self._filters.setdefault((name, is_excluded), {})
        if value in kept or sum(map(len, self._filters.values())) < MOST_FILTERS:
            kept[value] = None
        else:
            self.note(f"only the first {MOST_FILTERS} sites and languages are used")


_EXPECTED: Final = {
    "site": "a domain, a host or host/path",
    "lang": "a language tag such as en or pt-BR",
    "after": EXPECTED_DATE,
    "before": EXPECTED_DATE,
}
