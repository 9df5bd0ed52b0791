"""Which places of a text have words that a query asks for? The analysis decides, as it does in the index."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import chain, islice, pairwise
from typing import Final, NamedTuple

from weft.search import analysis
from weft.search.search_query import Field, Kind, SearchQuery, Term

_LONGEST_GAP: Final = 3
"""Characters between words that stand side by side, such as `", "`."""
_BLOCK_END: Final = "·"
MOST_WORDS: Final = 6_000
"""Words of one text that are compared: about 7 µs each if all of them match."""
_WORDS_OF_ANSWER: Final = 30_000
MOST_CHARACTERS: Final = 200_000
"""Of one text. What stands behind them is rarely what a page is about."""
_CHARACTERS_OF_ANSWER: Final = 2_000_000
_STRETCH: Final = 4_096
"""Characters that are looked through before the words are counted again."""
_RAGGED: Final = 256
"""Characters within which a stretch ends between two words, if it can."""
# They take away beginnings, too, so that a word need not begin like its stem.
_STEMMERS_OF_PREFIXES: Final = frozenset({"arabic", "dutch", "tamil"})


class Match(NamedTuple):
    start: int
    end: int
    number: int
    """Which of the wanted words this is."""


class Attention:
    """How much of its pages' texts one answer looks through, whatever they say: each page gets an equal share, and what
    short ones leave over goes to those behind them."""

    def __init__(self, pages: int = 1) -> None:
        self._pages, self._characters, self._words = pages, _CHARACTERS_OF_ANSWER, _WORDS_OF_ANSWER
        self.characters, self.words = MOST_CHARACTERS, MOST_WORDS
        """Left for this page."""

    def turn_to(self, length: int) -> None:
        """The next page, whose text has so many characters."""
        pages = max(1, self._pages)
        self.characters = min(MOST_CHARACTERS, self._characters // pages)
        self.words = min(MOST_WORDS, self._words // pages)
        self._pages -= 1
        self._characters -= min(length, self.characters)

    def look_at(self, words: int) -> None:
        self.words -= words
        self._words = max(0, self._words - words)


@dataclass(frozen=True)
class Wanted:
    """The words of a query in the forms that a page of one language may have them in; they are numbered."""

    words: Mapping[str, int]
    stems: Mapping[str, int]
    stemmer: str
    prefixes: tuple[tuple[str, int], ...]
    runs: tuple[tuple[str, int], ...]
    """Text without spaces between its words; one number may have several spellings."""
    neighbours: frozenset[tuple[int, int]]
    """Words that follow each other in the query."""
    only_together: frozenset[int]
    """Words that are wanted only as parts of a phrase."""

    @cached_property
    def first_letters(self) -> frozenset[str]:
        """One of these begins every wanted word that is no run; empty: any letter may."""
        if self.stems and self.stemmer in _STEMMERS_OF_PREFIXES:
            return frozenset()
        return frozenset(word[0] for word in (*self.words, *self.stems, *dict(self.prefixes)))

    @cached_property
    def seen(self) -> dict[str, int | None]:
        """By spelling which word it is, of those that were looked at: pages that are found together share many."""
        return {}


def wanted(query: SearchQuery, language: str) -> Wanted:
    """What to look for in a page of a language, which may be unknown (empty)."""
    return _Collector(analysis.STEMMED.get(analysis.language_of(language), "")).collect(query)


@dataclass
class _Collector:
    stemmer: str
    words: dict[str, int] = field(default_factory=dict)
    stems: dict[str, int] = field(default_factory=dict)
    prefixes: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    neighbours: set[tuple[int, int]] = field(default_factory=set)
    alone: set[int] = field(default_factory=set)
    count: int = 0

    def collect(self, query: SearchQuery) -> Wanted:
        last: list[int] = []
        for group in query.groups:
            numbers: list[int] = []
            # That a page's URL has a word says nothing about its text.
            for term in (term for term in group if term.field is not Field.URL):
                numbers = self._add(term)
                self.neighbours.update(pairwise(numbers))
                self.neighbours.update((one, numbers[0]) for one in last[-1:] if numbers)
            last = numbers if len(group) == 1 else []
        together = frozenset(self.words.values()) - self.alone
        return Wanted(
            self.words, self.stems, self.stemmer, tuple(self.prefixes.items()), tuple(self.runs.items()),
            frozenset(self.neighbours), together,
        )  # fmt: skip

    def _add(self, term: Term) -> list[int]:
        """The numbers of a term's words, in order."""
        self._add_runs(term.text)
        found = analysis.words(term.text)
        stems = analysis.stems(term.text, self.stemmer) if self.stemmer and term.kind is not Kind.PHRASE else found
        is_phrase = term.kind is Kind.PHRASE and len(found) > 1
        numbers = []
        for at, (word, stem) in enumerate(zip(found, stems, strict=True), start=1):
            if analysis.is_unspaced(word):
                continue
            is_prefix = term.kind is Kind.PREFIX and at == len(found)
            number = self._number(self.prefixes if is_prefix else self.words, word)
            # Of a word that is nothing but an ending no stem is left.
            if stem and self.stemmer and term.kind is not Kind.PHRASE and not is_prefix:
                self.stems.setdefault(stem, number)
            if not is_phrase:
                self.alone.add(number)
            numbers.append(number)
        return numbers

    def _add_runs(self, text: str) -> None:
        for run in analysis.unspaced_runs(text):
            number = self._number(self.runs, run)
            self.runs.setdefault(unicodedata.normalize("NFC", run), number)
        # As typed, which is how most pages have it.
        for run in _UNSPACED.findall(text):
            folded = "".join(analysis.unspaced_runs(run))
            if folded in self.runs:
                self.runs.setdefault(run, self.runs[folded])

    def _number(self, known: dict[str, int], word: str) -> int:
        if word not in known:
            known[word] = self.count
            self.count += 1
        return known[word]


def matches(text: str, asked: Wanted, attention: Attention) -> list[Match]:
    """The places of wanted words, in order, as far as the attention goes. Words of a phrase only where they stand
    together, if they do anywhere."""
    found = sorted([*_spaced_matches(text, asked, attention), *_run_matches(text, asked, attention)])
    if not asked.only_together or not asked.neighbours:
        return found
    together = {number for pair in _side_by_side(text, found, asked) for number in pair}
    phrased = {found[number].number for number in together} & asked.only_together
    return [match for at, match in enumerate(found) if match.number not in phrased or at in together]


def follows(text: str, one: Match, other: Match) -> bool:
    """Whether a match stands directly behind another one."""
    between = text[one.end : min(other.start, one.end + _LONGEST_GAP + 1)]
    return len(between) <= _LONGEST_GAP and _BLOCK_END not in between and not any(map(str.isalnum, between))


def _side_by_side(text: str, found: list[Match], asked: Wanted) -> Iterator[tuple[int, int]]:
    for at, (one, other) in enumerate(pairwise(found)):
        if (one.number, other.number) in asked.neighbours and follows(text, one, other):
            yield at, at + 1


def _spaced_matches(text: str, asked: Wanted, attention: Attention) -> Iterator[Match]:
    if not (asked.words or asked.prefixes):
        return
    letters, seen, patterns = asked.first_letters, asked.seen, _patterns(text, asked.first_letters)
    at = 0
    while at < len(text) and attention.words > 0:
        end = _stretch_end(text, at)
        count = 0
        for piece in chain.from_iterable(pattern.finditer(text, at, end) for pattern in patterns):
            count += 1
            spelling = piece[0]
            if spelling in seen:
                number = seen[spelling]
            else:
                may_be = not letters or _first_letter(spelling[0]) in letters
                number = seen[spelling] = _number_of(spelling, asked) if may_be else None
            if number is not None:
                yield Match(piece.start(), piece.end(), number)
        attention.look_at(count)
        at = end


def _stretch_end(text: str, at: int) -> int:
    """Where a stretch ends, between two words unless nothing says where one ends."""
    end = at + _STRETCH
    gap = _GAP.search(text, end, end + _RAGGED)
    return min(len(text), gap.end() if gap else end + _RAGGED)


def _patterns(text: str, letters: frozenset[str]) -> list[re.Pattern[str]]:
    """They find, between them, all words of a text that may begin with one of these letters; without letters, all."""
    if not text.isascii() and _MARK.search(text):
        return [_MARKED_WORD]
    if not letters:
        return [_WORD]
    # Any letter that is not plain may be a form of one that is.
    plain = [_words_from(letter + letter.upper()) for letter in letters if letter.isascii()]
    return plain if text.isascii() else [*plain, _words_from(_NOT_PLAIN)]


@cache
def _words_from(first: str) -> re.Pattern[str]:
    """Words that begin with one of a class of letters. It stands first in the pattern, so that `re` looks for it."""
    return re.compile(rf"[{first}](?<={_LETTER})(?<!{_LETTER}.){_LETTER}*", re.DOTALL)


def _number_of(spelling: str, asked: Wanted) -> int | None:
    is_plain = spelling.isascii() and len(spelling) <= analysis.LONGEST_WORD
    words = [spelling.lower()] if is_plain else analysis.words(spelling)
    for word in words:
        if word in asked.words:
            return asked.words[word]
    for stem in analysis.stems(spelling, asked.stemmer) if asked.stems else ():
        if stem in asked.stems:
            return asked.stems[stem]
    begun = (number for prefix, number in asked.prefixes for word in words if word.startswith(prefix))
    return next(begun, None)


@lru_cache(maxsize=10_000)
def _first_letter(character: str) -> str:
    """What a word begins with that is spelt so; empty if the character is dropped."""
    return character.lower() if character.isascii() else "".join(analysis.words(character))[:1]


def _run_matches(text: str, asked: Wanted, attention: Attention) -> list[Match]:
    runs = dict(asked.runs)
    if not runs or text.isascii():
        return []
    places = islice(_any_of(tuple(runs)).finditer(text), max(0, attention.words))
    found = [Match(*match.span(), runs[match[0]]) for match in places]
    numbers = {match.number for match in found}
    missing = ((run, number) for run, number in asked.runs if number not in numbers)
    pairs = dict.fromkeys(run[at : at + 2] for run, _ in missing for at in range(len(run) - 1))
    if pairs:
        # The more different ones, the better: they have numbers of their own.
        of_pair = {pair: -number for number, pair in enumerate(pairs, start=1)}
        places = islice(_any_of(tuple(pairs), overlap=True).finditer(text), max(0, attention.words - len(found)))
        found += [Match(*place.span(1), of_pair[place[1]]) for place in places]
    attention.look_at(len(found))
    return found


@lru_cache(maxsize=64)
def _any_of(texts: tuple[str, ...], *, overlap: bool = False) -> re.Pattern[str]:
    """The longest of them that stands at a place."""
    any_text = "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
    return re.compile(f"(?=({any_text}))" if overlap else any_text)


def _marks() -> str:
    """Marks belong to the letter before them. `re` has no class for them.

    Not those beyond the first plane: with them a search takes twenty times as long, and only rare scripts have them.
    """
    scripts = (range(0x300, 0x2000), range(0x20D0, 0x2100), range(0xA600, 0xAC00))
    found = "".join(chr(code) for codes in scripts for code in codes if unicodedata.category(chr(code))[0] == "M")
    return found + "\u00ad\u200b-\u200d\ufeff"


_UNSPACED: Final = re.compile(f"[{analysis.UNSPACED_CHARACTERS}]+")
_LETTER: Final = rf"[^\W_{analysis.UNSPACED_CHARACTERS}]"
_GAP: Final = re.compile(r"[\x00-/:-@\[-`{-\x7f]")
_MARK: Final = re.compile(f"[{_marks()}]")
_WORD: Final = re.compile(f"{_LETTER}+")
_NOT_PLAIN: Final = "\x80-\U0010ffff"
# Three times as slow.
_MARKED_WORD: Final = re.compile(rf"{_LETTER}+(?:{_MARK.pattern}+{_LETTER}*)*")
