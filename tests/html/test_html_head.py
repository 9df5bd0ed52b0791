"""What a page says about itself."""

import pytest

from weft.config.sections import LimitsSettings
from weft.html import ParsedPage, Refresh, RobotsDirectives, parse_page, robots_in_header
from weft.html.parse import HEADINGS_CHARS


def read(page: str, **limits: int) -> ParsedPage:
    return parse_page(page.encode(), limits=LimitsSettings(**limits))


def test_the_first_title_counts():
    assert read("<title> The \n title </title><title>Another</title>").title == "The title"


def test_a_drawing_has_no_say_in_the_title():
    assert read("<svg><title>Icon</title></svg><title>Page</title>").title == "Page"


def test_a_title_is_cut_at_its_limit():
    assert read("<title>A long title</title>", title_chars=8).title == "A long t"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<meta name=Description content=' A  page '>", "A page"),
        ("<meta property=og:description content=shared><meta name=description content=own>", "own"),
        ("<meta property=og:description content=shared>", "shared"),
        ("<meta name=description content=''><meta name=description content=second>", "second"),
        ("<template><meta name=description content=raw></template>", ""),
        ("<meta name=description>", ""),
    ],
)
def test_description(page, expected):
    assert read(page).description == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<html lang=' de-CH '>", "de-CH"),
        ("<html xml:lang=fr>", "fr"),
        ("<meta http-equiv=Content-Language content=it>", "it"),
        ("<html lang=de><meta http-equiv=content-language content=it>", "de"),
        ("<p lang=de>", ""),
        ("<html lang=" + "x" * 100 + ">", "x" * 35),
    ],
)
def test_language(page, expected):
    assert read(page).language == expected


def test_headings_in_order_without_empty_ones():
    page = "<h2>Two <a href=x>words</a></h2><h1>One</h1><h3> </h3><h6><img alt=picture></h6><h4 hidden>h</h4>"
    assert read(page).headings == ["Two words", "One", "picture", "h"]


def test_a_heading_ends_where_another_begins():
    assert read("<h1>outer<div><h2>inner</h2></div>rest</h1>").headings == ["outer", "inner"]


def test_headings_are_cut_each_and_together():
    page = parse_page(b"<h1>" + b"x" * 600 + b"</h1>")
    assert page.headings == ["x" * 512]
    many = parse_page(b"<h1>some words</h1>" * 10_000)
    assert sum(map(len, many.headings)) == HEADINGS_CHARS
    assert many.cut == ["headings"]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<base target=x><base href=' /a/ '><base href=/b/>", "/a/"),
        ("<base href><base href=/b/>", ""),
        ("<template><base href=/a/></template>", ""),
        ("<p>x", ""),
    ],
)
def test_the_first_base_with_an_href_counts(page, expected):
    assert read(page).base == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<link rel=canonical href=' /a '>", "/a"),
        ("<link rel='shortlink Canonical' href=/a><link rel=canonical href=/b>", "/a"),
        ("<link rel=canonical><link rel=canonical href=/b>", "/b"),
        ("<link rel=alternate href=/a>", ""),
    ],
)
def test_canonical(page, expected):
    assert read(page).canonical == expected


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<meta name=ROBOTS content='NoIndex, nofollow'>", RobotsDirectives(noindex=True, nofollow=True)),
        ("<meta name=robots content=none>", RobotsDirectives(noindex=True, nofollow=True)),
        ("<meta name=robots content='index,nofollow'>", RobotsDirectives(nofollow=True)),
        ("<meta name=robots content='max-snippet:-1 noindex'>", RobotsDirectives(noindex=True)),
        (
            "<meta name=robots content=nofollow><meta name=weft content=noindex>",
            RobotsDirectives(noindex=True, nofollow=True),
        ),
        ("<meta name=otherbot content=noindex>", RobotsDirectives()),
        ("<meta name=robots content=noindexing>", RobotsDirectives()),
        ("<meta name=robots content=all>", RobotsDirectives()),
        ("<p>x<meta name=robots content=noindex>", RobotsDirectives(noindex=True)),
    ],
)
def test_meta_robots(page, expected):
    assert read(page).robots == expected


def test_a_page_can_speak_to_the_configured_product():
    page = parse_page(b"<meta name=fetcher content=noindex>", product="Fetcher")
    assert page.robots == RobotsDirectives(noindex=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex"], RobotsDirectives(noindex=True)),
        (["NoFollow", "noindex"], RobotsDirectives(noindex=True, nofollow=True)),
        (["none"], RobotsDirectives(noindex=True, nofollow=True)),
        (["weft: noindex"], RobotsDirectives(noindex=True)),
        (["otherbot: noindex, nofollow"], RobotsDirectives()),
        (["otherbot: noindex, weft: nofollow"], RobotsDirectives(nofollow=True)),
        (["nofollow, otherbot: noindex"], RobotsDirectives(nofollow=True)),
        (["unavailable_after: Wed, 25 Jun 2010 15:00:00 PST, noindex"], RobotsDirectives(noindex=True)),
        (["max-image-preview: large, nofollow"], RobotsDirectives(nofollow=True)),
        (["", ":", ",,", "noindex:"], RobotsDirectives()),
        ([], RobotsDirectives()),
    ],
)
def test_robots_header(values, expected):
    assert robots_in_header(values) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=/next", Refresh(5, "/next")),
        ("0;URL='/next'", Refresh(0, "/next")),
        (' 3.7 , url = "/a b" rest', Refresh(3, "/a b")),
        ("5", Refresh(5)),
        ("5;", Refresh(5)),
        (".5; url=/next", Refresh(0, "/next")),
        ("1 /next", Refresh(1, "/next")),
        ("1; 'quoted'", Refresh(1, "quoted")),
        ("1; urlx", Refresh(1, "urlx")),
        ("9" * 30 + ";url=x", Refresh(999_999_999, "x")),
        ("url=/next", None),
        ("5x; url=/next", None),
        ("-1; url=/next", None),
        ("", None),
    ],
)
def test_refresh(content, expected):
    escaped = content.replace('"', "&quot;")
    assert read(f'<meta http-equiv="Refresh" content="{escaped}">').refresh == expected


def test_the_first_refresh_counts():
    assert read(
        "<meta http-equiv=refresh content='1;url=a'><meta http-equiv=refresh content='2;url=b'>"
    ).refresh == Refresh(1, "a")


def test_a_refresh_for_readers_without_scripts_is_not_for_us():
    assert read("<noscript><meta http-equiv=refresh content='0;url=/plain'></noscript>").refresh is None
