"""One analysis: a word is the same word in a query and in any document, whatever stands around it."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.search import analysis
from weft.search.analysis import STEMMED, STEMMERS, make_analyzer, prepared, stems, unspaced_runs, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Full-text Häuser, java.util.HashMap", ["full", "text", "hauser", "java", "util", "hashmap"]),
        ("Straße ﬁne Œuvre ＡＢＣ", ["strasse", "fine", "oeuvre", "abc"]),
        ("Ha\u0308user Häu\u00adser", ["hauser", "hauser"]),
        ("İstanbul Istanbul ISTANBUL", ["istanbul", "istanbul", "istanbul"]),
        ("Ἀθῆναι ΟΔΟΣ οδός", ["αθηναι", "οδοσ", "οδοσ"]),
        ("Ёлка елка", ["елка", "елка"]),
        ("東京都", ["東京", "京都"]),
        ("カ\u3099 ガ ｶﾞ", ["ガ", "ガ", "ガ"]),
        ("한국 \u1112\u1161\u11ab\u1100\u116e\u11a8", ["한국", "한국"]),
        ("שָׁלוֹם مُحَمَّد", ["שלום", "محمد"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_stems() -> None:
    assert stems("Häuser laufen", "german") == ["haus", "lauf"]
    assert sorted(set(STEMMED.values())) == STEMMERS
    assert all(stems("word", stemmer) for stemmer in STEMMERS)


CHARACTERS = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]


@pytest.mark.parametrize("neighbour", ["™", "\u200b", "İ"])
def test_no_character_is_read_otherwise_because_of_another_in_the_text(neighbour: str) -> None:
    alone, beside = " x ".join(CHARACTERS), f" {neighbour} x ".join(CHARACTERS)
    analyzer = make_analyzer()
    expected = [analyzer.analyze(prepared(character)) for character in CHARACTERS]
    assert analyzer.analyze(prepared(alone)) == [*_joined(expected, ["x"])]
    assert analyzer.analyze(prepared(beside)) == [*_joined(expected, [*words(neighbour), "x"])]


def _joined(found: list[list[str]], between: list[str]) -> list[str]:
    return [word for number, some in enumerate(found) for word in ([*between, *some] if number else some)]


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_composed_and_decomposed_text_is_the_same(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text)) == words(text)


@given(st.text("東京ｶﾞ가xa ーทำ", max_size=20))
def test_runs_are_what_pairs_are_made_of(text: str) -> None:
    pairs = [run[at : at + 2] for run in unspaced_runs(text) for at in range(max(1, len(run) - 1))]
    assert pairs == [word for word in words(text) if not word.isascii()]


@pytest.mark.parametrize(
    "stack", ["\u0316\u0301" * 200_000, "\u0301" * 200_000 + "\u0316" * 200_000, "\u302a\u3099" * 9**6]
)
def test_stacked_marks_take_no_time(stack: str) -> None:
    start = time.process_time()
    assert words(f"a{stack} b")[-1] == "b"
    assert time.process_time() - start < 2


def test_a_text_without_unusual_characters_has_the_words_that_it_has_anyway() -> None:
    analyzer = analysis.make_analyzer()
    for character in filter(lambda one: not analysis._UNUSUAL.search(one), map(chr, range(0x3000))):
        for text in (f"a{character}b", character, f"{character}{character} a"):
            folded = analysis._folded(analysis._normal(text))
            assert analyzer.analyze(folded) == analyzer.analyze(text)
            assert not analysis.is_unspaced(folded)
