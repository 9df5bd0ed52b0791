"""The path from a response to the index: what is opened, found and followed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.archive.body_decoding import BodyRefused
from weft.archive.http_message import HttpHead
from weft.config.sections import LimitsSettings
from weft.linkindex.records import decode_page
from weft.model.domain import reversed_domain
from weft.reading.following import FoundUrl
from weft.reading.http_reader import HttpReader, PageResponse, Payload, Reading, location_in
from weft.reading.outcomes import PageOutcome
from weft.reading.response_body import foreign_body
from weft.reading.settings import CRAWL, IMPORT, ReadingPolicy, ReadingSettings

SETTINGS = ReadingSettings((), 2048, LimitsSettings(), 1 << 20, "weft")
RULES = SETTINGS.url_rules()
PAGE = RULES.identify("https://a.com/page")


def read(
    body: str, kind: str = "text/html", policy: ReadingPolicy = CRAWL, status: int = 200, robots: str = ""
) -> Reading:
    head = HttpHead(status, (("content-type", kind), ("x-robots-tag", robots)))
    payload = foreign_body(SETTINGS, PAGE.url, head, body.encode())
    return HttpReader(SETTINGS, policy).read(PageResponse(PAGE, 5, status, None, lambda: payload))


def urls(reading: Reading) -> list[str]:
    return [found.url.removeprefix("https://a.com") for found in reading.follow]


def test_a_page_carries_everything_that_a_crawl_needs() -> None:
    reading = read(
        "<title>T</title><link rel=canonical href=/c><meta http-equiv=refresh content='1;url=/r'><base href=/folder/>"
        "<p>Words that are long enough to be a text of their own</p><a href=x>x</a>"
    )
    assert (reading.outcome, reading.title, reading.canonical) == (PageOutcome.PAGE, "T", "com.a/c")
    assert "Words that are" in reading.text
    assert urls(reading) == ["/folder/x", "/r"]
    assert reading.follow[0] == FoundUrl(b"com.a", b"com.a/folder/x", "https://a.com/folder/x")
    assert reading.fingerprint
    assert reading.simhash


@pytest.mark.parametrize("href", ["", "/page", "#top", "http://a.com/page", "mailto:x", "http://[::"])
def test_a_canonical_or_refresh_that_names_no_other_page_is_none(href: str) -> None:
    reading = read(f"<link rel=canonical href='{href}'><meta http-equiv=refresh content='0; url={href}'>x")
    assert (reading.canonical, reading.follow) == ("", [])


def test_an_import_does_not_look_for_what_it_does_not_follow() -> None:
    reading = read("<title>T</title><link rel=canonical href=/c><a href=/x>x</a>", policy=IMPORT)
    assert reading.page is not None
    assert decode_page(reading.page.cur).outlinkcount == 1
    assert (reading.follow, reading.canonical) == ((), "")


def test_an_import_decodes_no_body_that_cannot_be_a_page() -> None:
    head = HttpHead(200, (("content-type", "application/xml"), ("content-encoding", "gzip")))
    response = PageResponse(PAGE, 5, 200, None, lambda: foreign_body(SETTINGS, PAGE.url, head, b"no gzip"))
    reading = HttpReader(SETTINGS, IMPORT).read(response)
    assert reading.page is not None
    assert (reading.outcome, reading.page.is_gone) == (PageOutcome.OTHER, True)
    with pytest.raises(BodyRefused):
        HttpReader(SETTINGS, CRAWL).read(response)


@pytest.mark.parametrize("status", [206, 301, 304, 404, 500])
def test_the_payload_is_opened_for_a_success_alone(status: int) -> None:
    def never() -> Payload:
        raise AssertionError

    HttpReader(SETTINGS, CRAWL).read(PageResponse(PAGE, 5, status, "/x", never))


def test_a_redirect_names_its_target() -> None:
    reader = HttpReader(SETTINGS, CRAWL)

    def redirected(location: str | None) -> tuple[PageOutcome, str, list[str]]:
        head = HttpHead(301, (("location", location),) if location is not None else ())
        reading = reader.read(
            PageResponse(PAGE, 5, 301, location_in(head), lambda: foreign_body(SETTINGS, "", head, b""))
        )
        return reading.outcome, reading.target.url if reading.target else "", urls(reading)

    assert redirected("/x") == (PageOutcome.MOVED, "https://a.com/x", ["/x"])
    assert redirected("/\xc3\xbc") == (PageOutcome.MOVED, "https://a.com/%C3%BC", ["/%C3%BC"])
    assert redirected("/\xfc") == (PageOutcome.MOVED, "https://a.com/%C3%BC", ["/%C3%BC"])
    assert redirected("http://a.com/page") == (PageOutcome.SELF_REDIRECT, "http://a.com/page", [])
    assert redirected("tel:1") == (PageOutcome.BAD_REDIRECT, "", [])
    assert redirected(None) == redirected("") == (PageOutcome.FAILING, "", [])


@pytest.mark.parametrize("policy", [CRAWL, IMPORT])
@pytest.mark.parametrize(("status", "location", "moved_to"), [(301, "/%7ex", b"com.a/~x"), (404, "/x", b"")])
def test_a_page_that_redirects_is_gone_to_where_it_leads(
    policy: ReadingPolicy, status: int, location: str, moved_to: bytes
) -> None:
    head = HttpHead(status, (("location", location),))
    response = PageResponse(PAGE, 5, status, location, lambda: foreign_body(SETTINGS, "", head, b""))
    page = HttpReader(SETTINGS, policy).read(response).page
    assert page is not None
    assert (page.is_gone, page.moved_to) == (True, moved_to)


def test_a_listing_names_pages_with_the_time_of_their_own_host() -> None:
    entries = "".join(
        f"<url><loc>{url}</loc><lastmod>1970-01-02</lastmod></url>"
        for url in ("/1", "https://www.a.com/2", "https://b.com/3")
    )
    reading = read(f"<urlset>{entries}</urlset>", "application/xml")
    assert [(found.uri, found.lastmod) for found in reading.follow] == [(b"com.a/1", 86_400_000), (b"com.a.www/2", 0)]
    assert (reading.outcome, reading.is_index) == (PageOutcome.LISTING, False)
    assert reading.fingerprint
    index = read("<sitemapindex><sitemap><loc>/s</loc></sitemap></sitemapindex>", "application/xml")
    assert (index.is_index, urls(index)) == (True, ["/s"])
    assert index.fingerprint != reading.fingerprint
    assert read("<urlset></urlset>", "application/xml").fingerprint


def followed_by_stored_page(reading: Reading, links: list[tuple[str, str]]) -> list[FoundUrl]:
    """The rule told another way: by the stored references, then by the unmarked links to those that are marked."""
    assert reading.page is not None
    references = decode_page(reading.page.cur).outlinks
    rows = list(zip(reading.page.outlinks.domains, reading.page.outlinks.targets, references, strict=True))
    first = [FoundUrl(domain, uri, link.url) for domain, uri, link in rows if "nofollow" not in link.rel]
    marked = {uri for _, uri, link in rows if "nofollow" in link.rel}
    unmarked = [RULES.join(PAGE.url, href) for href, rel in links if "nofollow" not in rel]
    return first + [
        FoundUrl(reversed_domain(page.domain).encode(), page.uri.encode(), page.url)
        for page in unmarked
        if page.uri.encode() in marked
    ]


HREFS = st.sampled_from(["/1", "/2", "http://a.com/1", "https://b.com/", "//b.com/", "https://c.b.com/?x", "#y"])
RELS = st.sampled_from(["", "nofollow", "author", "ugc nofollow"])


@given(st.lists(st.tuples(HREFS, RELS), max_size=12))
def test_a_target_is_followed_if_any_link_to_it_is_not_marked(links: list[tuple[str, str]]) -> None:
    body = "".join(f"<a href='{href}' rel='{rel}'>x</a>" for href, rel in links)
    reading = read(body)
    assert reading.follow == followed_by_stored_page(reading, links)
    assert read(body, robots="nofollow").follow == []
