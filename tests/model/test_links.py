from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hard_urls import STRIP, bases, hrefs, many, page_urls, plain_hrefs
from weft.model.links import _ODD_CHARACTER, PageLinks, _Page, base_for_links, join_links
from weft.model.percent_encoding import normal_escapes
from weft.model.url import LONGEST_INPUT, UrlFault, UrlRefused, UrlRules, resolve

RULES = UrlRules(STRIP)
BASE = "https://www.example.co.uk/news/today.html?x=1"


def normal_url(url: str) -> str:
    slash = url.index("/", len("https://"))
    return url[:slash] + normal_escapes(url[slash:])


def one_by_one(rules: UrlRules, base: str, links: list[str]) -> PageLinks:
    pages, positions, refused = [], [], Counter[UrlFault]()
    for position, href in enumerate(links):
        try:
            pages.append(rules.join(base, href))
            positions.append(position)
        except UrlRefused as refusal:
            refused[refusal.reason] += 1
    return PageLinks(
        positions,
        urls=[normal_url(page.url) for page in pages],
        uris=[page.uri for page in pages],
        domains=[page.domain for page in pages],
        is_http=[page.url.startswith("http://") for page in pages],
        refused=refused,
    )


def test_links_come_in_columns_with_their_positions() -> None:
    links = join_links(RULES, BASE, ["/a", "mailto:x@y", "http://b.com/?utm_a=1", "http://[", "../c#d"])
    assert links.positions == [0, 2, 4]
    assert links.urls == ["https://www.example.co.uk/a", "http://b.com/", "https://www.example.co.uk/c"]
    assert links.uris == ["uk.co.example.www/a", "com.b", "uk.co.example.www/c"]
    assert links.domains == ["example.co.uk", "b.com", "example.co.uk"]
    assert links.is_http == [False, True, False]
    assert links.refused == {UrlFault.SCHEME: 1, UrlFault.UNPARSABLE: 1}


def test_links_that_differ_in_their_escapes_lead_to_one_page_by_one_url() -> None:
    links = join_links(RULES, BASE, ["/%c3%a9?q=%7e", "/%C3%A9?q=~", "/é?q=%7E", "//www.example.co.uk/%C3%a9?q=%7E#x"])
    assert set(links.uris) == {"uk.co.example.www/%C3%A9?q=~"}
    assert set(links.urls) == {"https://www.example.co.uk/%C3%A9?q=~"}


PLAIN = [
    ("", "https://www.example.co.uk/news/today.html?x=1"),
    ("#top", "https://www.example.co.uk/news/today.html?x=1"),
    ("?", "https://www.example.co.uk/news/today.html?"),
    ("?y=2#top", "https://www.example.co.uk/news/today.html?y=2"),
    ("/", "https://www.example.co.uk/"),
    ("/a:b@c", "https://www.example.co.uk/a:b@c"),
    ("a//b", None),
    ("a/b.html?c=%20d", "https://www.example.co.uk/news/a/b.html?c=%20d"),
    ("a%20b", "https://www.example.co.uk/news/a%20b"),
    ("./a", "https://www.example.co.uk/news/a"),
    ("../a", "https://www.example.co.uk/a"),
    ("../../../a", "https://www.example.co.uk/a"),
    ("a?gclid=1&b=2", "https://www.example.co.uk/news/a?b=2"),
    ("//a.com", "https://a.com/"),
    ("http://A.com.:80/x", "http://a.com/x"),
    ("http://u@a.com?y", "http://a.com/?y"),
    ("https://1/", "https://0.0.0.1/"),
    ("..", None),
    ("a/../b", None),
    ("a/%2e%2e/b", None),
    ("a/%2E%2E/b", None),
    ("/.well-known/x", None),
    ("a:b", None),
    ("http:a", None),
    ("///a", None),
    ("http:///a", None),
    ("//", None),
    ("a;jsessionid=1", None),
    ("a b", None),
    ("é", None),
    ("http://a.0x4../", None),
    ("x" * 513, None),
]


@pytest.mark.parametrize(("href", "url"), PLAIN)
def test_plain_links_need_no_parser_and_the_others_do(href: str, url: str | None) -> None:
    found = _Page(RULES, BASE).locate_plain(href)
    assert (found and found[0].url + found[1]) == url
    assert found is None or found == RULES.locate(BASE, href)


@many
@given(page_urls, st.one_of(plain_hrefs, hrefs))
def test_without_the_parser_a_link_leads_where_the_parser_says(base: str, href: str) -> None:
    found = _Page(RULES, base).locate_plain(href)
    assert found is None or found == RULES.locate(base, href)


@many
@given(bases, st.lists(hrefs, max_size=6))
def test_all_at_once_is_the_same_as_one_by_one(base: str, links: list[str]) -> None:
    assert join_links(RULES, base, links) == one_by_one(RULES, base, links)


@given(st.integers(20, 120), page_urls, st.lists(hrefs, max_size=6))
def test_short_limits_hold_for_plain_links_too(max_length: int, base: str, links: list[str]) -> None:
    rules = UrlRules(STRIP, max_length)
    assert join_links(rules, base, links) == one_by_one(rules, base, links)


@pytest.mark.parametrize("max_length", range(30, 100))
def test_a_plain_link_just_long_enough_is_refused(max_length: int) -> None:
    rules = UrlRules(max_length=max_length)
    links = ["x" * 20, "/" + "x" * 40, "//1", "//1/" + "x" * 20, "http://1?" + "x" * 22, "?" + "y" * 25]
    base = "http://example.com/abc/d"
    assert join_links(rules, base, links) == one_by_one(rules, base, links)


def test_the_parser_keeps_every_plain_character() -> None:
    plain = [chr(code) for code in range(0x110000) if not _ODD_CHARACTER.search(chr(code))]
    in_path = "".join(character for character in plain if character not in "?#")
    in_query = "".join(character for character in plain if character != "#")
    assert len(plain) == 81
    assert resolve(f"http://a.com/x{in_path}?{in_query}") == f"http://a.com/x{in_path}?{in_query}"


def test_an_endless_link_does_not_reach_the_parser() -> None:
    rules = UrlRules(max_length=10 * LONGEST_INPUT)
    assert join_links(rules, BASE, ["/a#" + "x" * LONGEST_INPUT]).refused == {UrlFault.TOO_LONG: 1}
    assert join_links(rules, "https://a.com/#".ljust(LONGEST_INPUT - 5), ["/a", "/a/b/c"]).positions == [0]


@pytest.mark.parametrize("base", ["about:blank", "mailto:x@y", "https://a.0x4../x"])
def test_on_a_base_that_is_no_page_only_whole_links_lead_somewhere(base: str) -> None:
    links = join_links(RULES, base, ["https://a.com/x", "b", "#c"])
    assert links.uris == ["com.a/x"]


def test_on_a_base_that_does_not_parse_no_link_leads_anywhere() -> None:
    links = join_links(RULES, "nothing", ["https://a.com/x", "b"])
    assert links.refused == {UrlFault.UNPARSABLE: 2}


@pytest.mark.parametrize(
    ("base_href", "base"),
    [
        (None, BASE),
        ("", BASE),
        ("/other/", "https://www.example.co.uk/other/"),
        ("http://b.com/x", "http://b.com/x"),
        ("javascript:void(0)", BASE),
        ("data:text/html,x", BASE),
        ("http://[", BASE),
        ("/" + "x" * LONGEST_INPUT, BASE),
    ],
)
def test_a_base_element_counts_when_it_is_usable(base_href: str | None, base: str) -> None:
    assert base_for_links(BASE, base_href) == base


def test_links_below_a_base_with_parameters_stay_in_its_folder() -> None:
    links = join_links(RULES, "https://a.com/x/..;jsessionid=1", ["c", "../d"])
    assert links.uris == ["com.a/x/c", "com.a/d"]
