"""What a query asks for, as a value; its canonical text, and an identity for cursors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Final, NamedTuple

from weft.search.query_dates import shown_date

OR: Final = "OR"
_KEY_BYTES: Final = 16
_SPLITS_PIECES: Final = re.compile("[()|]")


class Kind(StrEnum):
    WORD = "word"
    """One piece as it was typed. The analysis may make several words of it, which then must stand side by side."""
    PHRASE = "phrase"
    """These words, in this order and form."""
    PREFIX = "prefix"
    """Like a word, but the last of its words goes on in any way."""


class Field(StrEnum):
    """Where a term must be found."""

    ANY = "any"
    TITLE = "title"
    URL = "url"


class Term(NamedTuple):
    kind: Kind
    text: str
    field: Field = Field.ANY


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """Two queries are equal when they find the same, whatever notes they have."""

    groups: tuple[tuple[Term, ...], ...] = ()
    """Every group must match; of a group, any term."""
    excluded: tuple[Term, ...] = ()
    """None of these may match."""
    sites: tuple[str, ...] = ()
    """Domains, hosts or the beginnings of URLs, as the URL standard writes them but without a scheme; any of them."""
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    """Language tags in lower case, such as `pt-br`; any of them."""
    not_languages: tuple[str, ...] = ()
    after: int | None = None
    """Milliseconds since 1970, UTC: the first instant that is wanted."""
    before: int | None = None
    """The first instant that is not wanted any more."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was read otherwise than it was probably meant: one sentence for people each."""

    @property
    def has_filters(self) -> bool:
        """Whether something besides words says which pages are wanted."""
        return bool(self.sites or self.languages) or self.after is not None or self.before is not None


def render(query: SearchQuery) -> str:
    """The canonical text of a query: equal queries have equal texts, and `parse` reads the query back.

    It may be longer than what was typed, and so, for a query at the limit, longer than `parse` takes.
    """
    return " ".join(_parts(query))


def key(query: SearchQuery) -> bytes:
    """An identity of the query that other processes and later versions agree on."""
    return blake2b(render(query).encode(), digest_size=_KEY_BYTES).digest()


def _parts(query: SearchQuery) -> Iterator[str]:
    for group in query.groups:
        yield f" {OR} ".join(map(_term_text, group))
    yield from ("-" + _term_text(term).removeprefix("+") for term in query.excluded)
    yield from (f"site:{_quoted(site)}" for site in query.sites)
    yield from (f"-site:{_quoted(site)}" for site in query.not_sites)
    yield from (f"lang:{tag}" for tag in query.languages)
    yield from (f"-lang:{tag}" for tag in query.not_languages)
    if query.after is not None:
        yield f"after:{shown_date(query.after)}"
    if query.before is not None:
        yield f"before:{shown_date(query.before)}"


_FIELD_NAMES: Final = {Field.ANY: "", Field.TITLE: "intitle:", Field.URL: "inurl:"}


def _term_text(term: Term) -> str:
    name = _FIELD_NAMES[term.field]
    if term.kind is Kind.PHRASE:
        return f'{name}"{term.text}"'
    if term.kind is Kind.PREFIX:
        return f"{name}{term.text}*"
    # With a sign it is a word, not the operator.
    return "+" + term.text if term.text == OR and not name else name + term.text


def _quoted(value: str) -> str:
    return f'"{value}"' if _SPLITS_PIECES.search(value) else value
