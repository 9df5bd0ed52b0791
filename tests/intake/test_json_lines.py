import json
import re
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.config.sections import LimitsSettings
from weft.intake.json_lines import DESCRIPTION_CHARS, HEADINGS_CHARS, JsonPages, collapsed
from weft.intake.skip_reasons import PageRefused
from weft.linkindex.loaded import RawLink, load_gone, load_page
from weft.linkindex.records import Doc, compress_doc, decode_page, read_doc
from weft.model.url import UrlFault, UrlRules

NOW = 1_700_000_000_000
RULES = UrlRules(("utm_*",))
LIMITS = LimitsSettings()
URL = "https://a.com/page1"


@pytest.fixture
def pages():
    return JsonPages(RULES, LIMITS, NOW)


def line(**fields):
    return json.dumps({"url": URL, **fields}).encode()


def doc_of(page):
    return read_doc(compress_doc(page.doc)) if page.doc else Doc()


def refusal(data, limits=LIMITS):
    with pytest.raises(PageRefused) as refused:
        JsonPages(RULES, limits, NOW).read(data)
    sentence = str(refused.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def test_a_page_with_everything_is_what_load_page_makes_of_it(pages):
    read = pages.read(
        line(
            fetched="2026-01-31T12:00:00Z",
            title="One",
            text="all of\n it",
            description="in short",
            language="en",
            headings=["H1", "H2"],
            links=[{"url": "http://c.com", "text": "c", "rel": "nofollow"}, {"url": "//b.com/x?utm_a=1"}, "../page2"],
        )
    )
    links = [RawLink("http://c.com", "c", "nofollow"), RawLink("//b.com/x"), RawLink("/page2")]
    doc = Doc(title="One", text="all of\n it", description="in short", language="en", headings=["H1", "H2"])
    assert read == load_page(RULES, RULES.identify(URL), 1_769_860_800_000, links, doc)
    assert read.outlinks.targets == [b"com.c", b"com.b/x", b"com.a/page2"]


def test_a_page_needs_nothing_but_a_url(pages):
    assert pages.read(line()) == load_page(RULES, RULES.identify(URL), NOW, [], Doc())


def test_null_says_the_same_as_nothing(pages):
    names = ["fetched", "title", "text", "description", "language", "headings", "links", "deleted"]
    assert pages.read(line(**dict.fromkeys(names))) == pages.read(line())
    nothing = {"text": None, "rel": None}
    assert pages.read(line(links=[{"url": "/x", **nothing}])) == pages.read(line(links=["/x"]))


def test_what_weft_does_not_know_is_ignored(pages):
    other = {"status": 200, "headers": {"a": [1, {"b": None}]}, "Title": 7, "": "\x7f"}
    assert pages.read(line(**other)) == pages.read(line())
    assert pages.read(line(links=[{"url": "/x", "class": {"y": 1}}])) == pages.read(line(links=["/x"]))


def test_a_deleted_page_is_gone_whatever_else_stands_there(pages):
    gone = pages.read(line(deleted=True, title="x", links=["/y"], fetched="1970-01-01T00:00:01Z"))
    assert gone == load_gone(RULES.identify(URL), 1000)
    assert pages.read(line(deleted=True)) == load_gone(RULES.identify(URL), NOW)
    assert not pages.read(line(deleted=False)).is_gone


@pytest.mark.parametrize("form", [b"  %s\t\r", b"\xef\xbb\xbf%s"])
def test_white_space_and_a_byte_order_mark_around_a_line_do_not_matter(pages, form):
    assert pages.read(form % line()) == pages.read(line())


@pytest.mark.parametrize(
    ("fetched", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.0019999Z", 2),
        ("1970-01-01T00:00:00.0015Z", 1),
        ("1970-01-01t01:00:00.5+01:00", 500),
        ("1969-12-31T23:00:00-01:00", 0),
        ("2026-01-31 12:00:00-23:59", 1_769_860_800_000 + 86_340_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ],
)
def test_times_have_any_offset(pages, fetched, milliseconds):
    assert pages.read(line(fetched=fetched)).version.fetched == milliseconds


@pytest.mark.parametrize(
    "fetched",
    [
        "",
        "yesterday",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-01-31T25:00:00Z",
        "2026-01-31T12:00:00+25:00",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59.9999999Z",
        "1769860800",
    ],
)
def test_what_is_no_time_is_refused(fetched):
    expected = "fetched is not a time of RFC 3339; expected one with an offset such as 2026-01-31T12:00:00Z"
    assert refusal(line(fetched=fetched)) == expected


@pytest.mark.parametrize(
    "fetched", ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00+00:01", "0001-01-01T00:00:00+05:00"]
)
def test_a_time_before_1970_is_refused(fetched):
    assert refusal(line(fetched=fetched)).startswith("fetched is ")
    assert "expected a time from 1970 to the end of 9999" in refusal(line(fetched=fetched))


def test_a_time_after_9999_is_refused():
    assert "to the end of 9999" in refusal(line(fetched="9999-12-31T23:59:59-00:01"))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "it is not JSON: Input data was truncated; expected an object such as"),
        (b'{"url": "https://a.com/"', "it is not JSON: Input data was truncated; expected an object"),
        (b"{'url': 1}", "it is not JSON: object keys must be strings (byte 1); expected an object"),
        (b'{"url": "https://a.com/"} {}', "it is not JSON: trailing characters (byte 27); expected an object"),
        (b'{"url": "https://a.com/\x00"}', "it is not JSON: invalid character (byte 23)"),
        (b'{"url": "https://a.com/", "x": NaN}', "it is not JSON: invalid character (byte 31)"),
        (b'{"url": "https://a.com/\xff"}', "it is not UTF-8 (byte 23); expected UTF-8"),
        (b'{"url": "https://a.com/", "unknown": "\xc3"}', "it is not UTF-8 (byte 38); expected UTF-8"),
        (b'{"url": "https://a.com/", "\xed\xa0\x80": 1}', "it is not UTF-8 (byte 27); expected UTF-8"),
        ("{}".encode("utf-16"), "it is not UTF-8 (byte 0); expected UTF-8"),
        (b"[]", 'it is a list; expected an object such as {"url": "https://example.com/"}'),
        (b'"https://a.com/"', "it is a string; expected an object such as"),
        (b"null", "it is null; expected an object such as"),
        (b"7", "it is a number; expected an object such as"),
        (b"{}", "url is missing; expected a URL"),
        (b'{"URL": "https://a.com/"}', "url is missing; expected a URL"),
        (line(url=None), "url is null; expected a string"),
        (line(url=7), "url is a number; expected a string"),
        (line(url="/a"), "its url is refused: it does not parse; expected a whole URL such as https://example.com/"),
        (line(url=""), "its url is refused: it does not parse; expected a whole URL"),
        (line(url="ftp://a.com/"), "its url is refused: its scheme is ftp; expected http or https"),
        (line(url="https://" + "a" * 3000 + ".com/"), "its url is refused: it has 3013 characters"),
        (line(url="x" * 70_000), "its url is refused: it has 70000 characters"),
        (line(title=["a"]), "title is a list; expected a string"),
        (line(text={}), "text is an object; expected a string"),
        (line(description=1.5), "description is a number; expected a string"),
        (line(language=True), "language is true or false; expected a string"),
        (line(headings="one"), "headings is a string; expected a list"),
        (line(headings=["one", 2]), "headings[1] is a number; expected a string"),
        (line(links={"a": 1}), "links is an object; expected a list"),
        (line(links=["/a", 3]), "links[1] is a number; expected a string or an object"),
        (line(links=["/a", None]), "links[1] is null; expected a string or an object"),
        (line(links=["/a", {"href": "/b"}]), "links[1].url is missing; expected a URL"),
        (line(links=[{"url": 1}]), "links[0].url is a number; expected a string"),
        (line(links=[{"url": "/a", "text": []}]), "links[0].text is a list; expected a string"),
        (line(links=[{"url": "/a", "rel": ["nofollow"]}]), "links[0].rel is a list; expected a string"),
        (line(fetched=1_769_860_800), "fetched is a number; expected a time in quotes"),
        (line(deleted="yes"), "deleted is a string; expected true or false"),
        (line(deleted=1), "deleted is a number; expected true or false"),
        (b'{"url": "https://a.com/", "x": ' + b"[" * 200_000, "it is nested too deep; expected an object"),
        (b"[" * 200_000, "it is a list; expected an object"),
        (b'{"x":' * 200_000, "it is nested too deep; expected an object"),
        (None, "it is too long; expected at most 16777216 bytes"),
    ],
)
def test_a_refused_line_says_what_is_wrong_and_what_was_expected(data, sentence):
    assert refusal(data).startswith(sentence)


def test_a_line_beyond_the_limit_is_refused_whoever_read_it():
    limits = replace(LIMITS, line_bytes=len(line()))
    assert JsonPages(RULES, limits, NOW).read(line())
    assert refusal(line() + b" ", limits) == f"it is too long; expected at most {len(line())} bytes"


# --- links ------------------------------------------------------------------------------------------------------------


def test_links_that_cannot_name_a_page_are_left_out_and_counted(pages):
    links = ["mailto:a@b.c", "javascript:void(0)", "http://", "/ok", "x" * 3000, {"url": "tel:1", "text": "call"}, ""]
    assert pages.read(line(links=links)).outlinks.targets == [b"com.a/ok", b"com.a/page1"]
    assert pages.left_out == {UrlFault.SCHEME: 3, UrlFault.UNPARSABLE: 1, UrlFault.TOO_LONG: 1}
    pages.read(line(links=["data:,"]))
    assert pages.left_out[UrlFault.SCHEME] == 4


def test_the_words_belong_to_their_link_and_the_first_ones_win(pages):
    links = [{"url": "mailto:x", "text": "mail"}, {"url": "/b", "text": "first"}, "/c", {"url": "/b#x", "text": "2nd"}]
    read = pages.read(line(links=[*links, {"url": "/d", "text": "d", "rel": "ugc"}]))
    assert [(x.url, x.anchor, x.rel) for x in decode_page(read.cur).outlinks] == [
        ("https://a.com/b", "first", ""),
        ("https://a.com/c", "", ""),
        ("https://a.com/d", "d", "ugc"),
    ]


def test_a_line_with_too_many_links_keeps_the_first_ones():
    limits = replace(LIMITS, page_targets=3)
    links = ["/1", "/1", "mailto:x", "/2", "/1#x", "/3", "/4", "/2", "/5"]
    read = JsonPages(RULES, limits, NOW).read(line(links=links))
    assert read.outlinks.targets == [b"com.a/1", b"com.a/2", b"com.a/3"]
    assert (decode_page(read.cur).outlinkcount, decode_page(read.cur).left_out) == (3, 2)


@pytest.mark.long
def test_of_a_page_with_a_million_links_the_first_ones_count():
    read = JsonPages(RULES, LIMITS, NOW).read(line(links=[f"/{number}" for number in range(1_000_000)]))
    assert (len(read.outlinks.targets), read.outlinks.targets[-1]) == (50_000, b"com.a/49999")
    assert decode_page(read.cur).left_out == 950_000


# --- texts ------------------------------------------------------------------------------------------------------------


def test_words_are_collapsed_and_cut():
    limits = replace(LIMITS, anchor_chars=5, title_chars=7, text_chars=4)
    read = JsonPages(RULES, limits, NOW).read(
        line(
            title=" a\n\tbc   def",
            text=" a\n\nbcd",
            description=" d \n e ",
            headings=["  ", "", "one  two three"],
            language=" en ",
            links=[
                {"url": "/1", "text": "\u3000ab \xa0 cd ef", "rel": " nofollow\n ugc "},
                {"url": "/2", "text": "abcd e"},
            ],
        )
    )
    expected = Doc(title="a bc de", text=" a\n\n", description="d e", headings=["one two"], language="en")
    assert doc_of(read) == expected
    assert read.outlinks.anchors == [b"ab cd", b"abcd"]
    assert decode_page(read.cur).outlinks[0].rel == "nofollow ugc"
    assert decode_page(read.cur).title == "a bc de"


def test_everything_has_a_bound(pages):
    long = "ab " * 400_000
    links = [{"url": "/", "text": long, "rel": long}]
    read = pages.read(line(title=long, text=long, description=long, language=long, headings=[long] * 3, links=links))
    doc = doc_of(read)
    assert (len(doc.title), len(doc.text), len(doc.language)) == (512, 1 << 20, 35)
    assert DESCRIPTION_CHARS - 1 <= len(doc.description) <= DESCRIPTION_CHARS
    assert [len(heading) for heading in doc.headings] == [512] * 3
    assert (len(read.outlinks.anchors[0]), len(decode_page(read.cur).outlinks[0].rel)) == (256, 256)
    many = doc_of(pages.read(line(headings=["ten chars."] * 10_000)))
    assert sum(map(len, many.headings)) == HEADINGS_CHARS


def test_a_limit_of_nothing_leaves_nothing():
    limits = replace(LIMITS, anchor_chars=0, title_chars=0, text_chars=0, page_targets=0)
    pages = JsonPages(RULES, limits, NOW)
    assert pages.read(line(title="a", text="b", headings=["c"])) == pages.read(line())
    assert pages.read(line(links=["/"])).outlinks.targets == []


@given(text=st.text(st.sampled_from(" \t\n\x85\u2003ab")), longest=st.integers(0, 12))
def test_collapsed_is_what_the_words_say(text, longest):
    assert collapsed(text, longest) == " ".join(text.split())[:longest].rstrip()


def test_a_title_of_millions_of_words_is_not_taken_apart(pages):
    data = line(title="ab " * 4_000_000)
    tracemalloc.start()
    try:
        pages.read(data)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"a\uDFFFb", "a\ufffdb"),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83d\u0041", "\ufffdA"),
        (rb"\ud83d\\ude00 \ud83d\n\ude00", "\ufffd\\ude00 \ufffd \ufffd"),
        (rb"\\ud800 \\\ud800", "\\ud800 \\\ufffd"),
        (rb"\u0000|\u0007", "\0|\a"),
    ],
)
def test_half_a_surrogate_pair_is_read_as_a_replacement_character(pages, written, read):
    page = pages.read(b'{"url":"%b","title":"%b","links":[{"url":"/","text":"%b"}]}' % (URL.encode(), written, written))
    assert doc_of(page).title == decode_page(page.cur).title == read
    assert page.outlinks.anchors == [read.encode()]


def test_half_a_surrogate_pair_in_a_url_does_not_stop_it(pages):
    page = pages.read(rb'{"url":"https://a.com/\ud800","links":["/\udc00"]}')
    assert (page.uri, page.outlinks.targets) == (b"com.a/%EF%BF%BD", [b"com.a/%EF%BF%BD"])


def test_a_wrong_escape_beside_half_a_pair_is_not_repaired():
    assert refusal(rb'{"url":"https://a.com/","text":"\ud800 \x"}').startswith(
        "it is not JSON: invalid escape character"
    )


# --- anything ---------------------------------------------------------------------------------------------------------

NAMES = ["url", "fetched", "title", "text", "description", "language", "headings", "links", "deleted", "rel", "other"]
TELLING = [URL, "2026-01-31T12:00:00Z", "/x", "mailto:x", "\ud800"]
ANY_TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(TELLING)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES) | ANY_TEXT, inner, max_size=5),
    max_leaves=12,
)
ALMOST_LINK = st.fixed_dictionaries({"url": ANY_TEXT}, optional={"text": ANY_TEXT, "rel": ANY_TEXT})
ALMOST_PAGES = st.fixed_dictionaries(
    {"url": st.just(URL) | ANY_TEXT},
    optional={
        "fetched": ANY_TEXT | st.datetimes().map(lambda at: at.isoformat() + "Z"),
        "title": ANY_TEXT,
        "text": ANY_TEXT,
        "headings": st.lists(ANY_TEXT, max_size=3),
        "links": st.lists(ANY_TEXT | ALMOST_LINK),
        "deleted": st.booleans(),
        "other": ANY_JSON,
    },
)


def read_or_refuse(data):
    pages = JsonPages(RULES, LIMITS, NOW)
    try:
        page = pages.read(data)
    except PageRefused as refused:
        assert "expected" in str(refused)  # noqa: PT017 - either outcome is fine, a third one is not
        return
    assert page.is_gone or decode_page(page.cur).outlinkcount == len(page.outlinks.targets)
    assert doc_of(page).text is not None


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf")
@example(rb'{"url":"\ud8')
@example(rb'{"url":"\ud800\u')
def test_any_bytes_give_a_page_or_a_refusal(data):
    read_or_refuse(data)


@given(ANY_JSON.map(json.dumps) | ALMOST_PAGES.map(json.dumps))
def test_any_json_gives_a_page_or_a_refusal(text):
    read_or_refuse(text.encode())


@given(ALMOST_PAGES.map(json.dumps), st.integers(0, 300), st.binary(max_size=3), st.integers(0, 4))
def test_any_damaged_json_gives_a_page_or_a_refusal(text, at, put, removed):
    data = text.encode()
    read_or_refuse(data[:at] + put + data[at + removed :])


@given(ALMOST_PAGES)
def test_a_page_is_the_same_written_in_escapes_or_in_utf_8(page):
    try:
        plain = json.dumps(page, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return
    assert outcome(json.dumps(page).encode()) == outcome(plain)


def outcome(data):
    try:
        return JsonPages(RULES, LIMITS, NOW).read(data)
    except PageRefused as refused:
        return re.sub(r"byte [0-9]+", "byte", str(refused))
