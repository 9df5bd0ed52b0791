"""What one piece of a query means: a term, a site, a language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from weft.model.host import name_of, port_of, web_host_of
from weft.model.shown_text import shown_text
from weft.model.url import UrlRefused, UrlRules
from weft.search import analysis
from weft.search.search_query import Field, Kind, Term

MOST_WORDS_IN_TERM: Final = 16
"""Of a phrase, or of a word that the analysis cuts, such as a URL. Each is one more list of positions to walk through;
a sentence that somebody remembers is shorter."""
LONGEST_SITE: Final = 500
"""Characters of the beginning of an address; tantivy refuses expressions of a thousand."""
SHORTEST_PREFIX: Final = 3
"""Characters. Shorter ones begin a large part of all words."""
_PAIRS_PER_WORD: Final = 2
_LONGEST_SHOWN: Final = 40
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{1,8}){0,4}")
_DEFAULT_PORTS: Final = (80, 443)
_RULES: Final = UrlRules()

Note = Callable[[str], None]


def word_term(text: str, field: Field, note: Note) -> Term | None:
    """A word or a prefix; None if there is nothing in it that could be found."""
    text = text.lstrip("+-")
    base = text.rstrip("*")
    if not _has_words(base, note):
        return None
    shortened = _shortened(base, note).rstrip("*")
    if "*" in shortened:
        note("a star works only at the end of a word; it was ignored elsewhere")
    is_prefix = shortened == base != text and _may_be_prefix(base, note)
    return Term(Kind.PREFIX if is_prefix else Kind.WORD, shortened, field)


def phrase_term(text: str, field: Field, note: Note) -> Term | None:
    if not _has_words(text, note):
        return None
    if "*" in text:
        note("a star inside a phrase is ignored")
    return Term(Kind.PHRASE, _shortened(text, note).strip(), field)


def site_of(text: str) -> str | None:
    """A domain, a host or the beginning of a URL as the URL standard writes it; None if it is none of these."""
    typed = text.removeprefix("*").lstrip(".")
    try:
        url = _RULES.identify_typed(typed).url
    except UrlRefused:
        return None
    web_host = web_host_of(url)
    host = name_of(web_host) if port_of(web_host) in _DEFAULT_PORTS else web_host
    path = url.split("/", 3)[3]
    return f"{host}/{path}" if path else host


def languages_of(text: str) -> list[str] | None:
    """The tags in `en` or `en,pt-BR`; None if one of them is no tag."""
    tags = text.lower().replace("_", "-").split(",")
    return tags if all(map(_LANGUAGE.fullmatch, tags)) else None


def shown(text: str) -> str:
    """A part of the query in a note."""
    short = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    return f'"{shown_text(short)}"'


def _has_words(text: str, note: Note) -> bool:
    if analysis.words(text):
        return True
    if any(map(str.isalnum, text)):
        note(f"{shown(text)} is longer than any word that is indexed ({analysis.LONGEST_WORD} bytes); it was left out")
    return False


def _may_be_prefix(text: str, note: Note) -> bool:
    last = analysis.words(text)[-1]
    # Pairs of characters: all that goes on from here is found without a star.
    if analysis.is_unspaced(last):
        return False
    is_at_end = text[-1].isalnum() or unicodedata.category(text[-1]).startswith("M")
    if is_at_end and len(last) >= SHORTEST_PREFIX:
        return True
    note(f"a star needs a word of at least {SHORTEST_PREFIX} characters before it; it was ignored after {shown(text)}")
    return False


def _shortened(text: str, note: Note) -> str:
    """The longest beginning that has not too many words."""
    if number_of_words(text) <= MOST_WORDS_IN_TERM:
        return text
    note(f"{shown(text)} has more than {MOST_WORDS_IN_TERM} words; the rest of it was left out")
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if number_of_words(text[:middle]) <= MOST_WORDS_IN_TERM else (fits, middle)
    return text[:fits]


def number_of_words(text: str) -> float:
    """Pairs of characters count less, as a word has several."""
    return sum(1 / _PAIRS_PER_WORD if analysis.is_unspaced(word) else 1 for word in analysis.words(text))
