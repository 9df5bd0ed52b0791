"""Fingerprints: blind to what does not matter, sharp for everything else; simhashes: near for what is alike."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.html import ParsedPage, parse_page

SYLLABLES = [first + second + last for first in "bcdfghklmnprstvwz" for second in "aeiou" for last in "lnrt"]
PASSING_PAIRS = [
    ("It is 12:30 now", "It is 9:05 now"),
    ("It is 23:59:59 now", "It is 00:00:00 now"),
    ("on 2026-01-31.", "on 2027-12-01."),
    ("on 31.1.2026", "on 01.12.2027"),
    ("on 1/31/2026", "on 12/1/2026"),
    ("at 2026-01-31T12:00:00Z", "at 2026-02-01T13:14:15Z"),
    ("31 January 2026", "1 February 2027"),
    ("Jan. 31st, 2026", "Feb. 1st, 2026"),
    ("Saturday, 31 January", "Sunday, 1 February"),
    ("le 3 février 2026", "le 13 août 2026"),
    ("am 3. Dezember", "am 13. März"),
    ("the 31st January", "the 1st February"),
    ("since March 2026", "since April 2027"),
    ("5 minutes ago", "1 hour ago"),
    ("1,234 views", "99 views"),
    ("1,234,567 views", "1,234,568 views"),
    ("<b>Visitors:</b> 1234", "<b>Visitors:</b> 1,235"),
    ("<td>Visitors</td><td>1234</td>", "<td>Visitors</td><td>1235</td>"),
    ("Members online: 7", "Members online: 12"),
    ("made in 0.123 seconds", "made in 1.2 seconds"),
]
LASTING_PAIRS = [
    ("Page 1", "Page 2"),
    ("Item 17", "Item 18"),
    ("It costs 99 Euro", "It costs 98 Euro"),
    ("Version 1.2.3", "Version 1.2.4"),
    ("Photo 12 Like", "Photo 13 Like"),
    ("Call 030 12345", "Call 030 12346"),
    ("Ratio 16:9", "Ratio 4:3"),
    ("Model X17 views", "Model X18 views"),
    ("Model X2.1.2026", "Model X3.1.2026"),
    ("Room 117 May", "Room 118 May"),
    ("Visitors 117", "Visitors 118"),
    ("Comments</p><p>3 reasons", "Comments</p><p>4 reasons"),
    ("<h2>News of 31 January 2026</h2>", "<h2>News of 1 February 2026</h2>"),
    ("12", "13"),
]


def page(text: str, title: str = "A page") -> ParsedPage:
    body = (
        f"<title>{title}</title><body><p>Enough words to be a real text.</p><table><tr><p>{text}</p></table><p>The end."
    )
    return parse_page(body.encode(), "text/html; charset=utf-8")


def distance(one: ParsedPage, other: ParsedPage) -> int:
    return (one.simhash ^ other.simhash).bit_count()


@pytest.mark.parametrize(("before", "after"), PASSING_PAIRS)
def test_times_dates_and_counters_pass(before, after):
    assert page(before).text != page(after).text
    assert page(before).fingerprint == page(after).fingerprint
    assert page(before).simhash == page(after).simhash


@pytest.mark.parametrize(("one", "other"), LASTING_PAIRS)
def test_other_numbers_tell_pages_apart(one, other):
    assert page(one).fingerprint != page(other).fingerprint


def test_a_date_in_the_title_is_the_name_of_the_page():
    assert page("x", "News, 31 January 2026").fingerprint != page("x", "News, 1 February 2026").fingerprint


def test_names_of_months_without_numbers_stay():
    assert page("in January").fingerprint != page("in February").fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<p>Some words, and more.</p>", "<p>\n  Some   words,\n and more. </p>"),
        (
            "<p>Some words, and more.</p>",
            "<div class=x id=y><span>Some</span> <b style='color:red'>words</b>, and more.</div>",
        ),
        (
            "<p>Some words, and more.</p>",
            "<script>now()</script><p>Some words, and<!-- 12 --> more.</p><style>p{}</style>",
        ),
        ("<p>Some words, and more.</p>", "<P>SOME WORDS, AND MORE.</P>"),
        ("<p>Some words, and more.</p>", "<p>Some&nbsp;words, and more.</p>"),
        ("<p>Some words, and more.</p>", "<p>Some words, and more!</p>"),
        (
            "<p>Some words, and more.</p>",
            "<p>Some<br>words, and more.</p><a href=/x?session=1></a><p hidden>not this</p>",
        ),
    ],
)
def test_what_does_not_matter(one, other):
    assert page(one).fingerprint == page(other).fingerprint
    assert page(one).simhash == page(other).simhash


@pytest.mark.parametrize(
    "text", ["", "<p>Loading…", "<p>Please wait", "<title>A long title</title>", "<p>12:30 12:31 12:32 12:33"]
)
def test_without_a_real_text_there_is_neither(text):
    read = parse_page(text.encode(), "text/html; charset=utf-8")
    assert (read.fingerprint, read.simhash) == (0, 0)


def test_a_short_text_in_a_script_without_spaces_is_a_text():
    one, other = (parse_page(text.encode()) for text in ("<p>日本語の短い文章", "<p>日本語の長い文章"))
    assert one.fingerprint not in (0, other.fingerprint)


def test_both_are_numbers_of_64_bits():
    read = page("Some words")
    assert 0 < read.fingerprint < 2**64
    assert 0 < read.simhash < 2**64


def test_they_are_the_same_in_every_process():
    """They are stored: a change of these numbers is a change of what is stored."""
    read = parse_page(b"<title>A page</title><p>The same words in every process, on every machine.")
    assert (read.fingerprint, read.simhash) == (9058828722900884722, 6516277263039948244)


sentences = st.lists(st.sampled_from(SYLLABLES), min_size=4, max_size=12).map(" ".join)


@given(st.lists(sentences, min_size=3, max_size=10), sentences, st.integers(0, 2), st.randoms(use_true_random=False))
def test_markup_and_spaces_never_matter_and_a_changed_sentence_always_does(paragraphs, changed, place, chance):
    spaces = [" ", "\n", "  \t", "&nbsp;", "<!-- x --> ", " <b></b>", "<i> </i>"]
    plain = page("".join(f"<p>{text}</p>" for text in paragraphs))
    spaced = [re.sub(" ", lambda _: chance.choice(spaces), text) for text in paragraphs]
    assert page("".join(f"<div id=x> {text}</div>\n" for text in spaced)).fingerprint == plain.fingerprint
    other = page("".join(f"<p>{text}</p>" for text in [*paragraphs[:place], changed, *paragraphs[place + 1 :]]))
    assert (other.fingerprint == plain.fingerprint) == (changed == paragraphs[place])


def generated(chance: random.Random, count: int) -> list[str]:
    return [chance.choice(SYLLABLES) + chance.choice(SYLLABLES) for _ in range(count)]


def article(words: list[str]) -> ParsedPage:
    lines = [" ".join(words[first : first + 12]) for first in range(0, len(words), 12)]
    return parse_page(("<title>An article</title>" + "".join(f"<p>{line}.</p>" for line in lines)).encode())


@pytest.mark.parametrize(
    ("words", "changed", "nearest", "farthest"), [(300, 6, 0, 14), (1500, 15, 0, 12), (1500, 1500, 16, 48)]
)
def test_how_far_apart_simhashes_are(words, changed, nearest, farthest):
    """Articles with one changed sentence are near, different ones are far, in every one of the pairs."""
    chance = random.Random(words + changed)
    found = []
    for _ in range(100):
        one = generated(chance, words)
        place = chance.randrange(words - changed + 1)
        other = [*one[:place], *generated(chance, changed), *one[place + changed :]]
        found.append(distance(article(one), article(other)))
    assert nearest <= min(found)
    assert max(found) <= farthest


def test_simhashes_are_near_without_spaces_too():
    chance = random.Random(1)
    text = "".join(chr(0x4E00 + chance.randrange(2000)) for _ in range(600))
    one, near, far = (parse_page(f"<p>{text}".encode()) for text in (text, "新" + text[1:], text[::-1]))
    assert distance(one, near) <= 12
    assert distance(one, far) >= 16


def test_no_two_of_many_pages_share_a_fingerprint():
    """Pages of one template that differ in a word or in a number."""
    chance = random.Random(1)
    words = generated(chance, 200)
    pages = {article([*words[:100], *generated(chance, 2), *words[100:]]).fingerprint for _ in range(500)}
    pages |= {article([*words[:100], "Item", str(number), *words[100:]]).fingerprint for number in range(500)}
    assert len(pages) == 1000


@pytest.mark.parametrize("count", [10, 1_000, 100_000])
def test_a_text_that_repeats_itself_has_a_simhash_too(count):
    one, other = (parse_page(b"<p>" + words * count) for words in (b"the same words ", b"other words each time "))
    assert 8 < distance(one, other) < 56
