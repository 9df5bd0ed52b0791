"""The language of queries: everything that can be typed means something, and nothing takes long."""

from __future__ import annotations

import time
from datetime import date
from unicodedata import category

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.model.shown_text import shown_text
from weft.search import analysis
from weft.search.query_language import (
    LONGEST_QUERY,
    MOST_ALTERNATIVES,
    MOST_FILTERS,
    MOST_TERMS,
    MOST_WORDS,
    Field,
    Kind,
    SearchQuery,
    Term,
    key,
    parse,
    render,
)
from weft.search.query_terms import MOST_WORDS_IN_TERM

TODAY = date(2024, 5, 31)
DAY = 86_400_000
FIELDS = "(fields: site:, intitle:, inurl:, lang:, after:, before:)"
PLAIN = "word Full-Text java.util.HashMap 東京都 한국어 Häuser std::vector http://a.b/c?d=e 12:30 localhost:8080 c:\\x"
FILTERS = "site: SITE:example.org -site:a.de/b_(c) site:müller.de site:*.org site:? lang:en lang:en,pt-BR"
DATES = "lang:english -lang:fr after:2024 after:2024-05-31 before:7d before:2024-13 -after:1y after:site:x"
SIGNS = """OR | " “ ( ) - + * : -( -" +" site:( 5" \ud800 \u200b .* [a-z]+ (?:a|b)* 🎉 ½ ـ x\u0301 ſite:x"""
OTHERS = (
    "intitle: intitle:a -intitle:x* foo:bar -foo:bar foo: cat* ca* *at c*t 東京* a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r"
)
PARTS = st.sampled_from([*" ".join([PLAIN, FILTERS, DATES, SIGNS, OTHERS]).split(), 'inurl:"a b"', "\x00", "\u3000"])
TYPED = st.lists(PARTS | st.text(st.characters(codec=None), max_size=8), max_size=40).flatmap(
    lambda parts: st.sampled_from(["", " "]).map(lambda between: between.join(parts))
)


def words(query: SearchQuery) -> list[str]:
    return [" | ".join(term.text for term in group) for group in query.groups]


def parsed(text: str) -> SearchQuery:
    return parse(text, TODAY)


def parsed_or_none(text: str) -> SearchQuery | None:
    try:
        return parsed(text)
    except UsageError:
        return None


def word(text: str, field: Field = Field.ANY) -> Term:
    return Term(Kind.WORD, text, field)


def phrase(text: str, field: Field = Field.ANY) -> Term:
    return Term(Kind.PHRASE, text, field)


def test_words_phrases_and_exclusions() -> None:
    query = parsed('Full-text  "Link  Index" -slow -"not this" +java.util.HashMap')
    assert query.groups == ((word("Full-text"),), (phrase("Link Index"),), (word("java.util.HashMap"),))
    assert query.excluded == (word("slow"), phrase("not this"))
    assert query.notes == ()


def test_or_joins_its_neighbours() -> None:
    assert words(parsed('a b OR "c d" | e f')) == ["a", "b | c d | e", "f"]
    assert words(parsed("a|b")) == ["a | b"]
    assert words(parsed("a || b OR OR c")) == ["a | b | c"]
    assert words(parsed("a or b")) == ["a", "or", "b"]
    assert words(parsed("intitle:a OR b OR a OR b")) == ["a | b | a"]
    assert not parsed("a OR b").notes


@pytest.mark.parametrize(
    ("typed", "expected"), [("OR", ["OR"]), ("portland OR", ["portland", "OR"]), ("OR a", ["OR", "a"])]
)
def test_an_or_that_joins_nothing_is_a_word(typed: str, expected: list[str]) -> None:
    query = parsed(typed)
    assert words(query) == expected
    assert query.notes == ("OR needs a word on both sides; searched for it as a word",)
    assert render(parsed(typed)) == " ".join(expected).replace("OR", "+OR")


@pytest.mark.parametrize("typed", ["a OR -b", "-b OR a", "a OR site:x.org", "site:x.org OR lang:en a", "a -b OR -c"])
def test_or_joins_only_words(typed: str) -> None:
    assert parsed(typed).notes == ("OR works only between words and phrases; it was ignored elsewhere",)


def test_or_between_sites_says_what_several_sites_mean_anyway() -> None:
    query = parsed("site:a.org OR site:b.org | site:c.org")
    assert query.sites == ("a.org", "b.org", "c.org")
    assert not query.notes


def test_prefixes() -> None:
    assert parsed("cat*").groups == ((Term(Kind.PREFIX, "cat"),),)
    assert parsed("full-tex* intitle:Häu*").groups == (
        (Term(Kind.PREFIX, "full-tex"),),
        (Term(Kind.PREFIX, "Häu", Field.TITLE),),
    )
    assert parsed("cafe\u0301*").groups == ((Term(Kind.PREFIX, "cafe\u0301"),),)


@pytest.mark.parametrize(("typed", "text"), [("ca*", "ca"), ("java.u*", "java.u"), ("words.*", "words.")])
def test_a_star_after_too_little_is_ignored(typed: str, text: str) -> None:
    query = parsed(typed)
    assert query.groups == ((word(text),),)
    assert query.notes == (f'a star needs a word of at least 3 characters before it; it was ignored after "{text}"',)


def test_a_star_elsewhere_is_ignored() -> None:
    assert parsed("c*t").notes == ("a star works only at the end of a word; it was ignored elsewhere",)
    assert parsed('"a * b"').notes == ("a star inside a phrase is ignored",)
    assert parsed("SELECT * FROM").notes == ()
    assert parsed("東京*") == parsed("東京")
    assert parsed("東京*").notes == ()


def test_sites_are_written_like_urls() -> None:
    query = parsed("site:Example.ORG SITE:https://a.org/Docs/ site:müller.de site:*.b.org site:c.org:8080 site:edu/")
    assert query.sites == ("example.org", "a.org/Docs/", "xn--mller-kva.de", "b.org", "c.org:8080", "edu")
    assert parsed("a -site:x.org").not_sites == ("x.org",)
    assert parsed("site:http://x.org:80/").sites == ("x.org",)
    assert parsed("(site:a.org/b_(c))").sites == ("a.org/b_(c)",)
    assert parsed('site:"a.org/b|c"').sites == ("a.org/b|c",)


def test_languages() -> None:
    query = parsed("lang:en,pt_BR Lang:DE -lang:fr")
    assert (query.languages, query.not_languages) == (("en", "pt-br", "de"), ("fr",))


@pytest.mark.parametrize(
    ("typed", "after", "before"),
    [
        ("after:1970", 0, None),
        ("after:1970-02 before:1970-02-03", 31 * DAY, 33 * DAY),
        ("after:1970 after:1970-01-03 before:1972 before:1971", 2 * DAY, 365 * DAY),
        ("-before:1970", 0, None),
        ("-after:1970-01-02", None, DAY),
        ("before:1969-12-31", None, -DAY),
    ],
)
def test_dates_make_a_half_open_interval(typed: str, after: int | None, before: int | None) -> None:
    query = parsed(typed)
    assert (query.after, query.before, query.notes) == (after, before, ())


@pytest.mark.parametrize(
    ("ago", "day"),
    [
        ("0d", "2024-05-31"),
        ("7D", "2024-05-24"),
        ("2w", "2024-05-17"),
        ("1m", "2024-04-30"),
        ("3m", "2024-02-29"),
        ("5m", "2023-12-31"),
        ("1y", "2023-05-31"),
    ],
)
def test_times_ago_are_counted_from_today(ago: str, day: str) -> None:
    assert parsed(f"after:{ago}") == parsed(f"after:{day}")


def test_times_ago_need_no_today() -> None:
    assert abs((parse("after:1d").after or 0) - time.time() * 1000) < 3 * DAY


@pytest.mark.parametrize("typed", ["2024-13", "2024-02-30", "0000", "lunch", "99999y", "20240101", "７d"])
def test_what_is_no_date_is_words(typed: str) -> None:
    query = parsed(f"after:{typed}")
    assert words(query) == ["after", typed]
    assert query.after is None
    assert query.notes[0].startswith("after: expects a date such as 2024")


def test_an_empty_interval_is_noted() -> None:
    assert parsed("after:2024 before:2023").notes == ("no page is both after the one date and before the other",)


def test_an_unknown_field_is_words() -> None:
    query = parsed("foo:bar")
    assert words(query) == ["foo", "bar"]
    assert query.notes == (f'there is no field "foo:"; searched for its words {FIELDS}',)
    assert parsed('foo:"a b"').groups == ((word("foo"),), (phrase("a b"),))
    excluding = parsed("a -foo:bar")
    assert excluding.excluded == (phrase("foo bar"),)
    assert excluding.notes == (f'there is no field "foo:"; left out pages with its words {FIELDS}',)


@pytest.mark.parametrize(
    "typed",
    ["std::vector", "http://a.b/c?d=e", "12:30", "localhost:8080", "c:\\windows", "mailto:a@b.org", "Note:", "a:b"],
)
def test_other_colons_are_no_fields(typed: str) -> None:
    assert parsed(typed).groups == ((word(typed),),)
    assert parsed(typed).notes == ()


@pytest.mark.parametrize(
    ("typed", "expected", "note"),
    [
        ("site:", ["site"], '"site:" needs a value right behind it; took it as a word'),
        ("site:a^b", ["site", "a^b"], 'site: expects a domain, a host or host/path; took "a^b" as words'),
        ("lang:klingon", ["lang", "klingon"], "lang: expects a language tag such as en or pt-BR"),
        ('say "hello world', ["say", "hello", "world"], "a quotation mark has no partner; it was ignored"),
        ("a OR (b c)", ["a | b", "c"], "parentheses are not supported; they were ignored"),
        ("a -(b c)", ["a", "c"], "parentheses are not supported; they were ignored"),
        ("x" * 65 + " y", ["y"], f'"{"x" * 40}…" is longer than any word that is indexed (64 bytes); it was left out'),
    ],
)
def test_repairs_are_noted(typed: str, expected: list[str], note: str) -> None:
    query = parsed(typed)
    assert words(query) == expected
    assert len(query.notes) == 1
    assert query.notes[0].startswith(note)


@pytest.mark.parametrize("typed", ["(a OR b) c", "(a b) c", "((a)) f(x)", "a OR (b OR c)", ":-) a", "-(a) b"])
def test_parentheses_that_change_nothing_are_not_noted(typed: str) -> None:
    assert parsed(typed).notes == ()


def test_inches_open_no_phrase() -> None:
    assert words(parsed('5" disk 3.5" "floppy drive"')) == ["5", "disk", "3.5", "floppy drive"]


def test_typographic_quotation_marks_are_quotation_marks() -> None:
    assert parsed("“a b” „c d“ «e f»") == parsed('"a b" "c d" "e f"')


def test_controls_and_halves_of_characters_are_spaces() -> None:
    assert words(parsed("a\x00b\ud800c\x9fd")) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("typed", ["", "   ", "!!! ... ()", '""', "🎉", "-", "|", "x" * 65])
def test_nothing_to_search_for(typed: str) -> None:
    with pytest.raises(UsageError, match="nothing to search for in the query; expected at least one word"):
        parsed(typed)


@pytest.mark.parametrize("typed", ["-a", '-"a b"', "-site:x.org", "-lang:en -b"])
def test_only_exclusions(typed: str) -> None:
    with pytest.raises(UsageError, match="only says what to leave out; expected at least one word"):
        parsed(typed)


@pytest.mark.parametrize("typed", ["site:x.org", "lang:en", "after:2024", "before:2024 -a"])
def test_only_filters(typed: str) -> None:
    assert not parsed(typed).groups


def test_too_long_a_query() -> None:
    assert parsed(" " * (LONGEST_QUERY - 1) + "a")
    with pytest.raises(UsageError, match="at most 2,048 characters; this one has 100,000"):
        parsed("a" * 100_000)


def test_bounds() -> None:
    many = parsed(" ".join(f"w{number}" for number in range(100)) + " -x")
    assert words(many) == [f"w{number}" for number in range(MOST_TERMS)]
    assert many.notes == ("only the first 32 words and phrases are used",)
    either = parsed(" OR ".join(f"w{number}" for number in range(20)) + " z")
    assert words(either) == [" | ".join(f"w{number}" for number in range(MOST_ALTERNATIVES)), "z"]
    assert either.notes == ("only the first 8 alternatives of an OR are used",)
    sites = parsed(" ".join(f"site:s{number}.org lang:en -site:n.org" for number in range(20)))
    assert len(sites.sites + sites.languages + sites.not_sites) == MOST_FILTERS
    assert sites.notes == ("only the first 16 sites and languages are used",)


def test_long_phrases_and_words_are_cut() -> None:
    letters = "a b c d e f g h i j k l m n o p q r s t"
    assert words(parsed(f'"{letters}"')) == [letters[:31]]
    assert parsed(f'"{letters}"').notes == (f'"{letters}" has more than 16 words; the rest of it was left out',)
    assert words(parsed(letters.replace(" ", "*") + "*")) == [letters[:31].replace(" ", "*")]
    assert words(parsed("東" * 100)) == ["東" * (2 * MOST_WORDS_IN_TERM + 1)]


@settings(max_examples=400)
@given(TYPED)
@example("+OR -OR OR")
@example("after:site:x")
def test_the_canonical_text_means_the_same(typed: str) -> None:
    query = parsed_or_none(typed)
    if query is not None and len(render(query)) <= LONGEST_QUERY:
        again = parse(render(query))
        assert again == query
        assert render(again) == render(query)
        assert key(again) == key(query)


@settings(max_examples=400)
@given(TYPED)
def test_whatever_is_typed_is_within_bounds(typed: str) -> None:
    query = parsed_or_none(typed)
    if query is None:
        return
    terms = [*query.excluded, *(term for group in query.groups for term in group)]
    assert len(terms) <= MOST_TERMS
    assert all(analysis.words(term.text) for term in terms)
    assert all(1 <= len(group) <= MOST_ALTERNATIVES for group in query.groups)
    assert all(shown_text(note) == note and len(note) < 250 for note in query.notes)
    assert query.groups or query.sites or query.languages or query.after is not None or query.before is not None


@given(st.lists(st.text("abcdefgxyz", min_size=1, max_size=9), min_size=1, max_size=MOST_TERMS))
def test_plain_words_are_just_words(typed: list[str]) -> None:
    assert words(parsed(" ".join(typed))) == typed
    assert not parsed(" ".join(typed)).notes


def test_queries_that_differ_have_different_keys() -> None:
    typed = ["a", "A", "a b", '"a b"', "a OR b", "a -b", "intitle:a", "a*bc", "abc*", "site:a", "lang:aa", "after:2024"]
    assert len({key(parsed(text)) for text in typed}) == len(typed)


@pytest.mark.parametrize(
    "unit",
    ["a ", "(", ")", '"', "-", "*", "|", "OR ", "a|", "-(", "site:", "site:(", "foo:", "東", "a-", '5"', "\x00", '"a',
     "a*", "(?:a*)*", "\ud800", "\U0010ffff", "e\u0301", "site:a.b ", "after:1d ", "lang:en,", "//", "::", "."],
)  # fmt: skip
def test_hostile_queries_are_answered_at_once(unit: str) -> None:
    start = time.process_time()
    parsed_or_none((unit * LONGEST_QUERY)[:LONGEST_QUERY])
    parsed_or_none(unit * 100_000)
    assert time.process_time() - start < 0.5


def test_every_character_can_be_typed() -> None:
    """Every one that Unicode defines. Of the million others, which are all alike, some are enough."""
    undefined = ("Cn", "Co")
    typed = [chr(code) for code in range(0x110000) if code % 100 == 0 or category(chr(code)) not in undefined]
    for first in range(0, len(typed), 1000):
        parsed_or_none("".join(typed[first : first + 1000]))
        parsed_or_none(" ".join(typed[first : first + 1000]))


def test_all_terms_together_have_a_bounded_number_of_words() -> None:
    query = parse(" ".join(f'"{" ".join(f"w{number}" for _ in range(16))}"' for number in range(32)))
    assert len(query.groups) * 16 == MOST_WORDS
    assert any(f"at most {MOST_WORDS} words" in note for note in query.notes)
    assert parse(render(query)) == query
    few = parse(" ".join(f"word{number}" for number in range(MOST_TERMS)))
    assert (len(few.groups), few.notes) == (MOST_TERMS, ())
