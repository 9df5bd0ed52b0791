"""From text to the words that are searched: the same for documents and for queries.

Words are runs of letters and digits, in lower case, without diacritics. A language with a stemmer has its stems beside
them. Scripts that put no spaces between words (Chinese, Japanese, Korean, Thai and some neighbours) are cut into
overlapping pairs of characters. Each character begins one pair, so a single one is found as the beginning of a pair.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final

from tantivy import Filter, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

LONGEST_WORD: Final = 64
"""Bytes. Longer runs are keys and encoded data; nobody types them."""

STEMMED: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Languages that have a stemmer, by the first part of their tag."""
STEMMERS: Final = sorted(set(STEMMED.values()))

UNSPACED_CHARACTERS: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17d3"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"  # Hangul
    "\u2e80-\u2fd5\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"  # Kana
)
"""As a part of a class of characters in a regular expression."""
_UNSPACED: Final = re.compile(f"[{UNSPACED_CHARACTERS}]+")
_MARKS: Final = "\u00ad\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670\u200b-\u200d\ufeff"
"""Accents on their own, Hebrew points, Arabic vowels, and characters without width."""
_DROPPED: Final = re.compile(f"[{_MARKS}]+")
# Latin letters are folded by tantivy's own filter.
_ODD: Final = re.compile(f"[{_MARKS}\u0130\u0370-\u03ff\u0401\u0451\u1f00-\u1fff]")
# In lower case the Turkish capital would have a dot of its own, and the Greek capital would be another letter than ς.
_SAME_LETTERS: Final = (("\u0130", "I"), ("\u0401", "\u0415"), ("\u0451", "\u0435"), ("\u03c2", "\u03c3"))
# Sorting marks takes a time that grows with the square of their number; no letter of any language has so many.
_STACKED: Final = re.compile(r"([^\w\s\x00-\x7f]{30})[^\w\s\x00-\x7f]+")
# Found faster; a text without this has none of those.
_MAY_BE_STACKED: Final = re.compile(r"[^\x00-\x7f\u3041-\u3096\u30a0-\u9fff\uac00-\ud7a3]{31}")
# Latin and Cyrillic letters, punctuation and drawings that nothing below changes, as far as words are concerned: most
# texts that are not ASCII consist of these.
_UNUSUAL: Final = re.compile(
    "[^\x00-\x9f\u00a0-\u00a7\u00a9\u00ab\u00ac\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf-\u012f\u0131\u0134-\u013e"
    "\u0141-\u0148\u014a-\u017e\u0402-\u0450\u0452-\u0481\u2010\u2012-\u2016\u2018-\u2023\u2026\u2030-\u2032\u2039\u203a"
    "\u20ac\u2190-\u21ff\u2500-\u257f\u25a0-\u25ff]"
)
_GREEK: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")
_PAIR: Final = 2


def language_of(tag: str) -> str:
    """The language that a tag such as `en-GB` names, in lower case; empty if it names none."""
    first = re.split("[-_,; ]", tag.strip(), maxsplit=1)[0].lower()
    return first if first.isascii() and first.isalpha() and 2 <= len(first) <= 3 else ""


def prepared(text: str, *, is_query: bool = False) -> str:
    """The text as tantivy is to see it; plain ASCII, most of the web, is left as it is.

    Of a run without spaces a query leaves out the last character on its own: it must match what follows there, too.
    """
    if text.isascii() or not _UNUSUAL.search(text):
        return text
    text = _normal(text)
    if _ODD.search(text):
        text = _folded(text)
    if _UNSPACED.search(text):
        pairs = _query_pairs if is_query else _pairs
        return _UNSPACED.sub(lambda run: pairs(run[0]), text)
    return text


def words(text: str) -> list[str]:
    """The words of a query's text, in order."""
    return _analyzer("").analyze(prepared(text, is_query=True))


def stems(text: str, stemmer: str) -> list[str]:
    """The same words as stems; one for each of `words`."""
    return _analyzer(stemmer).analyze(prepared(text, is_query=True))


def unspaced_runs(text: str) -> list[str]:
    """The runs that are written without spaces, in the form that they are indexed in."""
    return [] if text.isascii() else _UNSPACED.findall(_DROPPED.sub("", _normal(text)))


def is_unspaced(text: str) -> bool:
    """Whether this is written without spaces, so that its pairs must follow each other."""
    return _UNSPACED.search(text) is not None


@cache
def _analyzer(stemmer: str) -> TextAnalyzer:
    return make_analyzer(stemmer)


def make_analyzer(stemmer: str = "") -> TextAnalyzer:
    """What tantivy does with prepared texts; with a stemmer's name, for the field of its stems."""
    builder = (
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    )
    if stemmer:
        # Before folding: stemmers know the endings of their language by their accents.
        builder = builder.filter(Filter.stemmer(stemmer))
    return builder.filter(Filter.ascii_fold()).build()


def _normal(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        return text
    if _MAY_BE_STACKED.search(text):
        text = _STACKED.sub(r"\1 ", text)
    return unicodedata.normalize("NFKC", text)


def _folded(text: str) -> str:
    text = _GREEK.sub(lambda run: _without_accents(run[0]), _DROPPED.sub("", text))
    for letter, same in _SAME_LETTERS:
        text = text.replace(letter, same)
    return text


def _without_accents(text: str) -> str:
    return _DROPPED.sub("", unicodedata.normalize("NFD", text))


def _pairs(run: str) -> str:
    return f" {' '.join(run[at : at + _PAIR] for at in range(len(run)))} "


def _query_pairs(run: str) -> str:
    return f" {' '.join(run[at : at + _PAIR] for at in range(max(1, len(run) - 1)))} "
