"""The truth about a synthetic web is what its pages say: every URL fetched, every link read by another parser."""

from __future__ import annotations

import gzip
from collections import Counter
from dataclasses import replace
from urllib.parse import urljoin, urlsplit, urlunsplit

import lxml.html  # type: ignore[import-untyped]
import pytest
from lxml import etree

from support.raw_client import Answer, get
from weft.config.sections import UrlSettings
from weft.demo.web.definition.kinds import PageKind
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.definition.state import Change
from weft.demo.web.definition.world import make_world
from weft.demo.web.fates import Fate
from weft.demo.web.server.serving import Served, serving
from weft.demo.web.truth import Truth, TruthPage
from weft.model.url import UrlRules

RULES = UrlRules(UrlSettings().strip)
FINITE = PROFILES["finite"]
SMALL = WebPlan(hosts=8, pages=6, page_bytes=(500, 6_000), links=(3, 20), profile=replace(FINITE, slow_seconds=0.02))


def walked(served: Served, truth: Truth) -> list[TruthPage]:
    pages = list(truth.walk([served.url(host) for host in range(served.plan.hosts)]))
    assert truth.is_whole
    return pages


def parsed(answer: Answer) -> lxml.html.HtmlElement:
    content = answer.content
    if content.startswith(b"\xff\xfe"):
        content = content.decode("utf-16").encode()
    return lxml.html.document_fromstring(content, parser=lxml.html.HTMLParser(encoding="utf-8"))


def plainly(url: str) -> str:
    """The URL as a browser would send it, by the standard library alone."""
    parts = urlsplit(url)
    path = parts.path.replace("é", "%C3%A9") or "/"
    return urlunsplit((parts.scheme, parts.netloc.lower(), path, parts.query, ""))


def links_on(url: str, answer: Answer) -> list[tuple[str, str, str]]:
    """Target, words and rel of every link that leads to a page."""
    page = parsed(answer)
    base = urljoin(url, next(iter(page.xpath("//base/@href")), ""))
    found = []
    for link in page.xpath("//a[@href]"):
        href = link.get("href").strip()
        if urlsplit(href).scheme.lower() in ("", "http", "https"):
            words = " ".join(link.text_content().split())
            found.append((plainly(urljoin(base, href)), words, link.get("rel", "").lower()))
    return found


def distinct(links: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The first link to each uri, with session ids taken off by the rules that weft uses."""
    first: dict[str, tuple[str, str, str]] = {}
    for url, words, rel in links:
        page = RULES.identify(url)
        first.setdefault(page.uri, (page.url, words, rel))
    return list(first.values())


def check(served: Served, page: TruthPage) -> None:
    answer = get(served, page.url, Accept_Encoding="gzip, br, zstd")
    assert answer.status == page.status, page.url
    if page.fate is Fate.PAGE:
        assert answer.is_html
        assert distinct(links_on(page.url, answer)) == [(link.url, link.anchor, link.rel) for link in page.outlinks]
        refresh = parsed(answer).xpath('//meta[@http-equiv="refresh"]/@content')
        assert [text.partition("url=")[2] for text in refresh] == page.found
    elif page.fate is Fate.REDIRECT:
        assert [plainly(urljoin(page.url, answer.headers["location"]))] == page.found
    elif page.fate is Fate.SITEMAP:
        packed = page.url.endswith(".gz")
        document = etree.fromstring(gzip.decompress(answer.content) if packed else answer.content)
        assert document.xpath("//*[local-name()='loc']/text()") == page.found
        assert document.tag.endswith("}sitemapindex") == any(url.endswith(".gz") for url in page.found)
    elif page.fate is Fate.OTHER:
        assert not answer.is_html


@pytest.mark.parametrize(("seed", "tls"), [(1, False), (2, True), (3, True)])
def test_every_url_answers_what_the_truth_says(seed: int, tls: bool) -> None:
    with serving(replace(SMALL, seed=seed, tls=tls)) as served:
        truth = Truth(served.world, RULES, sitemaps=True)
        pages = walked(served, truth)
        for page in pages:
            if page.fate is not Fate.CLOSED:
                check(served, page)
    kinds = {page.fate for page in pages}
    assert kinds >= {Fate.PAGE, Fate.REDIRECT, Fate.ERROR, Fate.OTHER, Fate.CLOSED, Fate.SITEMAP}
    references = Counter(link.uri for page in pages for link in page.outlinks)
    assert {uri.uri: uri.references for uri in truth.uris() if uri.references} == references
    assert {uri.uri for uri in truth.uris() if uri.is_loaded} == {page.uri for page in pages if page.fate is Fate.PAGE}


def test_the_uris_of_the_truth_are_those_of_its_urls() -> None:
    """Made here by hand: reversed name, port, path and query."""
    world = make_world(replace(SMALL, port=8000))
    for page in Truth(world, UrlRules()).walk([world.url(0)]):
        parts = urlsplit(page.url)
        name = ".".join(reversed((parts.hostname or "").split(".")))
        target = page.url.partition(parts.netloc)[2]
        assert page.uri == f"{name}:8000" + ("" if target == "/" else target)


def test_closed_pages_are_reached_and_not_entered() -> None:
    world = make_world(replace(SMALL, port=8000, profile=replace(PROFILES["plain"], closed=1.0)))
    pages = list(Truth(world).walk([world.url(0)]))
    closed = [page for page in pages if page.fate is Fate.CLOSED]
    assert closed
    assert not any(page.outlinks or page.found for page in closed)
    assert {page.kind for page in pages if page.fate is Fate.PAGE} == {PageKind.PAGE, PageKind.OPENED}


@pytest.mark.parametrize(
    ("robots", "is_open"),
    [("missing", True), ("forbidden", True), ("long_chain", True), ("failing", False), ("reset", False)],
)
def test_a_robots_txt_that_does_not_come_opens_or_closes_the_host(robots: str, is_open: bool) -> None:
    world = make_world(replace(SMALL, port=8000, hosts=2, profile=replace(PROFILES["plain"], closed=1.0)))
    world.apply(Change(do="switch", host=1, traits={"robots": robots}))
    fates = {page.fate for page in Truth(world).walk([world.url(1)])}
    assert fates == ({Fate.PAGE} if is_open else {Fate.CLOSED})


def test_a_host_that_asks_for_too_much_delay_is_left_alone() -> None:
    world = make_world(replace(SMALL, port=8000, hosts=2))
    world.apply(Change(do="switch", host=1, traits={"crawl_delay": 61.0}))
    assert [page.fate for page in Truth(world).walk([world.url(1)])] == [Fate.CLOSED]
    assert len(list(Truth(world, crawl_delay_max=61.0).walk([world.url(1)]))) > 1


def test_links_that_must_not_be_followed_are_told_and_not_followed() -> None:
    world = make_world(replace(SMALL, port=8000, profile=replace(PROFILES["plain"], nofollow=1.0)))
    pages = list(Truth(world).walk([world.url(2)]))
    assert [page.url for page in pages] == [world.url(2)]
    assert all("nofollow" in link.rel for link in pages[0].outlinks)


def test_a_page_can_forbid_to_follow_its_links() -> None:
    world = make_world(replace(SMALL, port=8000, pages=40, profile=replace(PROFILES["plain"], robots_metas=1.0)))
    numbers = range(1, world.hosts.numbered(1).layout.pages)
    for number in numbers:
        reached = len(list(Truth(world).walk([world.url(1, number)], limit=5)))
        assert (reached == 1) == (world.state.quality(1, number).robots in ("nofollow", "none"))
    assert len({world.state.quality(1, number).robots for number in numbers}) == 4


def test_scope_and_depth_bound_the_truth() -> None:
    world = make_world(replace(SMALL, port=8000))
    name = world.hosts.numbered(0).name
    inside = list(Truth(world, in_scope=lambda host: host == name).walk([world.url(0)]))
    assert {urlsplit(page.url).hostname for page in inside} == {name}
    assert any(urlsplit(link.url).hostname != name for page in inside for link in page.outlinks)
    assert {page.depth for page in Truth(world, max_depth=1).walk([world.url(0)])} == {0, 1}


def test_a_trap_is_told_up_to_the_limit() -> None:
    world = make_world(replace(SMALL, port=8000, profile=replace(PROFILES["plain"], calendars=1.0)))
    truth = Truth(world)
    assert len(list(truth.walk([world.url(1)], limit=500))) == 500
    assert not truth.is_whole


def test_sitemaps_lead_to_pages_that_no_page_links_to() -> None:
    world = make_world(replace(SMALL, port=8000, profile=replace(PROFILES["plain"], sitemaps=1.0)))
    starts = [world.url(host) for host in range(SMALL.hosts)]
    without, with_them = Truth(world), Truth(world, sitemaps=True)
    known = {page.uri for page in without.walk(starts)}
    more = {page.kind for page in with_them.walk(starts) if page.uri not in known}
    assert more == {PageKind.ORPHAN, PageKind.SITEMAP}
