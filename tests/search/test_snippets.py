"""Snippets show the words that were searched for as the page spells them, on one safe line, from any text."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.step_counting import steps
from weft.errors import UsageError
from weft.model.shown_text import shown_text
from weft.search import analysis
from weft.search.query_language import parse
from weft.search.snippets import Attention, Snippet, Wanted, make_snippet, mark_words, wanted
from weft.search.wanted_words import MOST_CHARACTERS, MOST_WORDS

FILLER = "Nothing of interest is said here, again and again. "
SPELLINGS = [
    "Häuser",
    "haus",
    "full-text",
    "Full",
    "text",
    "東京都",
    "日本",
    "столицей",
    "ё",
    "x",
    "e\u0301t\u00e9",
    "\n",
]
TEXTS = st.lists(
    st.sampled_from(
        [*SPELLINGS, "word", "The end.", " ", ". ", "\x1b[2J", "\u202e", "\ud800", "🎉", "한국어", "\u0301"]
    )
    | st.text(st.characters(codec=None), max_size=6),
    max_size=60,
).flatmap(lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts)))
QUERIES = st.lists(
    st.sampled_from(['"full text"', "hauser", "haus*", "東京都", "京", "столица", "ete", "x OR full", "intitle:text"]),
    min_size=1,
    max_size=4,
).map(" ".join)
LANGUAGES = st.sampled_from(["", "de", "en-GB", "ru", "ar", "ja", "xx"])


def asked(query: str, language: str = "en") -> Wanted:
    return wanted(parse(query), language)


def shown(snippet: Snippet) -> str:
    text = snippet.text
    for start, end in reversed(snippet.marks):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def marked(text: str, query: str, language: str = "en") -> str:
    return shown(mark_words(text, asked(query, language)))


@pytest.mark.parametrize(
    ("text", "query", "language", "expected"),
    [
        ("Häuser am Fluß", "hauser", "", "[Häuser] am Fluß"),
        ("Häuser, Haus, Häuschen", "haus", "de", "[Häuser], [Haus], Häuschen"),
        ("Häuser, Haus", "haus", "", "Häuser, [Haus]"),
        ("Ha\u0308user", "häuser", "", "[Ha\u0308user]"),
        ("STRASSE Straße", "straße", "", "[STRASSE] [Straße]"),
        ("searching the search", "searches", "en", "[searching] the [search]"),
        ('searching "search"', '"search"', "en", 'searching "[search]"'),
        ("indexes, reindex", "inde*", "", "[indexes], reindex"),
        ("snake_case and snakes", "snake", "", "[snake]_case and snakes"),
        ("full-text: text is full", '"full text"', "", "[full]-[text]: text is full"),
        ("text is full", '"full text"', "", "[text] is [full]"),
        ("full\ntext, full text", '"full text"', "", "full · text, [full] [text]"),
        ("one or other", "one OR two other", "", "[one] or [other]"),
        ("python in the url", "inurl:python url", "", "python in the [url]"),
        ("in a title", "intitle:title -a", "", "in a [title]"),
        ("東京都は日本の首都", "東京都 首都", "ja", "[東京都]は日本の[首都]"),
        ("東京都は日本の首都", "京", "ja", "東[京]都は日本の首都"),
        ("東京タワー", "東京都庁", "ja", "[東京]タワー"),
        ("京都タワー、タワー", "東京都タワー", "ja", "[京都タワー]、[タワー]"),
        ("ภาษาไทยทำ", "ทำ", "th", "ภาษาไทย[ทำ]"),
        ("столица, столицей", "столицу", "ru", "[столица], [столицей]"),
        ("الكتاب", "كتاب", "ar", "[الكتاب]"),
        ("हिन्दी भाषा", "हिन्दी", "hi", "[हिन्दी] भाषा"),
        ("ους, που", "ους", "el", "[ους], που"),
        ("gelopen loopt", "lopen", "nl", "[gelopen] [loopt]"),
        ("nothing", "else", "", "nothing"),
        ("a\x00b\x1b[31mc\u202ed", "b", "", "a [b] [31mcd"),
        ("two\nlines.\nthree", "lines", "", "two · [lines]. three"),
        ("", "a", "", ""),
    ],
)
def test_marks(text: str, query: str, language: str, expected: str) -> None:
    assert marked(text, query, language) == expected


def test_short_texts_are_shown_in_full() -> None:
    assert shown(make_snippet("Home\nAbout\n\n  A  full sentence. \nMore", asked("full"))) == (
        "Home · About · A [full] sentence. More"
    )


def test_without_a_match_the_beginning_is_shown() -> None:
    snippet = make_snippet(FILLER * 20, asked("else"), 60)
    assert snippet == Snippet("Nothing of interest is said here, again and again. Nothing…", ())


def test_the_window_begins_with_the_sentence_of_the_match() -> None:
    text = FILLER * 20 + "The zebra has stripes. " + FILLER * 20
    assert (
        shown(make_snippet(text, asked("stripe"), 60)) == "The zebra has [stripes]. Nothing of interest is said here…"
    )


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    text = "many words " * 50 + "a zebra " + "and others " * 50
    assert (
        shown(make_snippet(text, asked("zebra"), 60)) == "…many words many words a [zebra] and others and others and…"
    )


def test_at_the_end_of_a_text_more_before_it_is_shown() -> None:
    text = FILLER * 20 + "The end."
    assert shown(make_snippet(text, asked("end"), 70)) == FILLER + "The [end]."


def test_most_different_words_win() -> None:
    text = "one one one one. " + FILLER * 20 + "one two. " + FILLER * 20 + "one two three."
    assert make_snippet(text, asked("one two"), 60).text.startswith("one two. ")
    assert make_snippet(text, asked("one two three"), 60).text.endswith("one two three.")


def test_words_that_never_stand_in_one_window_do_not_add_up() -> None:
    text = "one. " + FILLER * 20 + "two. " + FILLER * 20 + "one, and then a good many words later two."
    assert make_snippet(text, asked("one two"), 80).text.endswith("one, and then a good many words later two.")


def test_words_in_order_win_over_words_apart() -> None:
    text = "two of them, and one. " + FILLER * 20 + "Again one two."
    assert make_snippet(text, asked("one two"), 60).text.endswith("Again one two.")


def test_words_that_are_close_win() -> None:
    text = "one thing and then, much later in the sentence, two. " + FILLER * 20 + "The two, not the one."
    assert make_snippet(text, asked("one two"), 80).text.endswith("The two, not the one.")


def test_the_first_of_equals_wins() -> None:
    text = FILLER * 10 + "First zebra. " + FILLER * 10 + "Second zebra. " + FILLER * 10
    assert make_snippet(text, asked("zebra"), 60).text.startswith("First zebra.")


def test_texts_without_spaces_are_cut_between_characters() -> None:
    snippet = make_snippet("大" * 500 + "東京" + "小" * 500, asked("東京", "ja"), 40)
    assert "東京" in shown(snippet)
    assert snippet.text.startswith("…大")
    assert snippet.text.endswith("小…")
    assert 30 <= len(snippet.text) <= 40


def test_a_letter_keeps_its_marks() -> None:
    snippet = make_snippet("e\u0301" * 500, asked("else"), 40)
    assert snippet.text.replace("e\u0301", "") == "…"


@given(TEXTS, QUERIES, LANGUAGES, st.integers(16, 120))
@example("\u0301" * 60, "x", "", 16)
@example("x" * 400, "x*", "", 16)
def test_every_snippet_is_short_and_safe(text: str, query: str, language: str, longest: int) -> None:
    snippet = make_snippet(text, asked(query, language), longest)
    assert len(snippet.text) <= longest
    assert shown_text(snippet.text) == snippet.text
    assert " ".join(snippet.text.split()) == snippet.text
    assert all(0 <= start < end <= len(snippet.text) for start, end in snippet.marks)
    assert all(one[1] <= other[0] for one, other in pairwise(snippet.marks))


@given(TEXTS, QUERIES, LANGUAGES, st.integers(16, 120))
def test_a_snippet_has_a_mark_if_the_text_has_one(text: str, query: str, language: str, longest: int) -> None:
    words = asked(query, language)
    whole = mark_words(text, words)
    snippet = make_snippet(text, words, longest)
    assert bool(snippet.marks) == bool(whole.marks)
    assert snippet.text.strip("…").strip() in whole.text + "…"
    spelt = {whole.text[start:end] for start, end in whole.marks}
    shown = [snippet.text[start:end] for start, end in snippet.marks]
    assert all(any(word in spelling for spelling in spelt) for word in shown)


@given(st.lists(st.sampled_from([word for word in SPELLINGS if word.isalpha()]), min_size=1, max_size=12))
def test_what_is_marked_is_what_the_analysis_finds(pieces: list[str]) -> None:
    text = " ".join(pieces)
    for query in pieces:
        if not analysis.is_unspaced(query):
            found = mark_words(text, asked(query, ""))
            spelt = [text[start:end] for start, end in found.marks]
            assert spelt == [piece for piece in pieces if analysis.words(piece) == analysis.words(query)]


@given(st.text(st.characters(codec=None), max_size=40), st.text(st.characters(codec=None), max_size=200))
def test_any_query_marks_any_text(query: str, text: str) -> None:
    try:
        words = asked(query, "de")
    except UsageError:
        return
    make_snippet(text, words)
    mark_words(text, words)


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "x y ", "東", "東京", "e\u0301", "\u0301", "\u0316\u0301", "\n", ".", ". ", " · ", "\x00", "\ud800",
     "…", "Häuser ", "a\u200d", "ك ", "a.", "\U0001f1e9", "(", "x\n"],
)  # fmt: skip
def test_hostile_texts_take_no_time(unit: str) -> None:
    words = asked('x a* e "a b c" 東 東京 京都府 haus (y OR z) كتاب', "de")
    start = time.process_time()
    make_snippet(unit * (1_000_000 // len(unit)), words)
    assert time.process_time() - start < 2


def test_only_the_beginning_of_a_text_is_looked_at() -> None:
    assert not make_snippet("a " * (MOST_CHARACTERS // 2) + "zebra", asked("zebra")).marks


def test_a_usual_page_takes_about_a_millisecond() -> None:
    text = (FILLER * 60 + "The zebra has stripes. " + FILLER * 60)[:5000]
    words = asked("zebra stripes")
    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        make_snippet(text, words)
        best = min(best, time.perf_counter() - start)
    assert best < 0.005


@pytest.mark.parametrize(
    "unit", ["cat ", "cat dog ", "c1 ", "cat\n", "c\n", "東京", "東都京", "ca\u0301t ", "cat.", "äcat "]
)
def test_an_answer_costs_no_more_with_longer_pages(unit: str) -> None:
    words = asked('cat "cat dog" 東京都')

    def answer(characters: int) -> None:
        attention = Attention(100)
        for _ in range(100):
            text = unit * (characters // len(unit))
            attention.turn_to(len(text))
            make_snippet(text, words, attention=attention)

    answer(20)  # spellings that are remembered
    assert steps(lambda: answer(200_000)) < 1.1 * steps(lambda: answer(20_000)) + 1000
    assert steps(lambda: answer(200_000)) < 3_000_000


def test_what_short_pages_leave_over_goes_to_long_ones() -> None:
    attention = Attention(100)
    for _ in range(99):
        attention.turn_to(500)
        attention.look_at(50)
    attention.turn_to(200_000)
    assert (attention.characters, attention.words) == (MOST_CHARACTERS, MOST_WORDS)


def test_a_page_of_results_looks_far_into_each_long_page() -> None:
    text, words = FILLER * 3000 + "The zebra has stripes.", asked("zebra stripes")
    attention = Attention(10)
    for _ in range(10):
        attention.turn_to(len(text))
        assert len(make_snippet(text, words, attention=attention).marks) == 2


def test_words_are_whole_where_one_stretch_of_a_text_ends() -> None:
    words = asked("zebra")
    for before in range(4080, 4110):
        text, marks = mark_words("x" * before + " zebra!", words)
        assert [text[start:end] for start, end in marks] == ["zebra"]
