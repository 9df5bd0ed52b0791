"""Sitemaps and feeds: what each form lists, and that no input costs more than its bounds."""

from __future__ import annotations

import codecs
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.suites import suite_file
from weft.archive.body_decoding import BodyRefused, DecodeLimits
from weft.model.url import UrlRules
from weft.reading.following import followed_entries
from weft.reading.listing_entries import ListedUrl, UrlListing, lastmod_of, read_listing
from weft.reading.listing_kinds import ListingKind, kind_of, unpacked

MOST = 50_000
LIMITS = DecodeLimits(size=50 << 20)
DAY = 86_400_000
FEBRUARY = 1_769_904_000_000
"""2026-02-01"""


def entries(body: bytes, url: str = "https://a.com/sitemap.xml", kind: str = "application/xml") -> list[ListedUrl]:
    found = kind_of(kind, url, body)
    assert found is not None
    return read_listing(unpacked(body, LIMITS), found, MOST).entries


def urls(body: bytes, url: str = "https://a.com/sitemap.xml", kind: str = "application/xml") -> list[str]:
    return [entry.url for entry in entries(body, url, kind)]


@pytest.mark.parametrize(
    ("name", "kind", "count", "first"),
    [
        ("sitemap.index.xml", "application/xml", 15, "https://example.com/sitemap.jss?portalCode=10260&lang=en"),
        ("sitemap.ns.xml", "text/xml", 2, "http://www.example.com/1"),
        ("sitemap.badns.xml", "text/xml", 2, "http://www.example.com/1"),
        ("sitemap.txt", "text/plain", 2, "http://www.domain.com/page1.html"),
        ("sitemap-with-bom.txt", "text/plain", 2, "http://www.domain.com/page1.html"),
        ("sitemap.txt.gz", "application/gzip", 5, "http://www.example.com/"),
        ("xmlSitemap.gz", "application/octet-stream", 5, "http://www.example.com/"),
        ("atom.xml", "application/atom+xml", 3, "http://example.org/"),
        ("extension/sitemap-links.xml", "text/xml", 3, "http://www.example.com/english/"),
        ("extension/sitemap-images.xml", "text/xml", 1, "http://www.example.com/images/some_image_landing_page.html"),
    ],
)
def test_published_sitemaps_are_read(name: str, kind: str, count: int, first: str) -> None:
    found = urls(suite_file(f"sitemaps/{name}").read_bytes(), f"https://a.com/{name.replace('xmlS', 's')}", kind)
    assert (len(found), found[0]) == (count, first)


def test_every_language_of_an_entry_is_listed() -> None:
    found = urls(suite_file("sitemaps/extension/sitemap-links.xml").read_bytes())
    assert "http://www.example.com/schweiz-deutsch/" in found


def test_a_lastmod_belongs_to_its_own_entry() -> None:
    body = (
        b"<urlset><url><loc>/1</loc><lastmod>2026-02-01</lastmod></url><url><loc>/2</loc></url>"
        b"<url><lastmod>2026-02-02T01:00:00+01:00</lastmod><loc> <![CDATA[ /3?a[]=1&b=2 ]]> </loc></url></urlset>"
    )
    assert entries(body) == [("/1", FEBRUARY), ("/2", 0), ("/3?a[]=1&b=2", FEBRUARY + DAY)]


def test_an_entry_that_is_listed_twice_has_the_later_lastmod() -> None:
    body = b"<urlset><loc>/1</loc><lastmod>2026-02-02</lastmod><loc>/1</loc><lastmod>2026-02-01</lastmod></urlset>"
    assert entries(body) == [("/1", FEBRUARY + DAY)]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"2026-02-01", FEBRUARY), (b"2026-02", FEBRUARY), (b"2026", FEBRUARY - 31 * DAY),
        (b"2026-02-01T00:00Z", FEBRUARY), (b"2026-02-01T02:00:00.5+02:00", FEBRUARY + 500),
        (b"yesterday", 0), (b"", 0), (b"2026-13-01", 0), (b"1850-01-01", 0), (b"99999-01-01", 0),
        (b"0001-01-01T00:00:00+14:00", 0), (b"\xff\xfe", 0), (b"9" * 5000, 0),
    ],
)  # fmt: skip
def test_a_lastmod_is_a_moment_or_nothing(text: bytes, at: int) -> None:
    assert lastmod_of(text) == at


def test_rss_lists_the_links_of_its_items() -> None:
    body = b"<rss><channel><link>https://a.com/</link><item><title>x</title><link><![CDATA[/1]]></link></item></channel></rss>"
    assert urls(body, kind="application/rss+xml") == ["https://a.com/", "/1"]


def test_atom_tells_when_an_entry_changed_and_leads_nowhere_else() -> None:
    body = (
        b"<a:feed xmlns:a='x'><a:link rel='self' href='/feed'/><a:updated>2026-03-01</a:updated>"
        b"<a:entry><a:link href='/1'/><a:link rel=\"edit\" href='/1/edit'/><a:updated>2026-02-01</a:updated></a:entry>"
        b"<a:entry><a:link rel='alternate' href=\"/2\"/></a:entry></a:feed>"
    )
    assert entries(body, kind="application/atom+xml") == [("/1", FEBRUARY), ("/2", 0)]


@pytest.mark.parametrize("mark", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_a_byte_order_mark_tells_the_encoding(mark: bytes) -> None:
    encoding = {2: "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be", 3: "utf-8"}[len(mark)]
    assert urls(mark + "<urlset><url><loc>/ü</loc></url></urlset>".encode(encoding)) == ["/ü"]


def test_of_fifty_thousand_and_one_entries_the_last_is_left_out() -> None:
    body = b"<urlset>" + b"".join(b"<url><loc>/%d</loc></url>" % n for n in range(MOST + 1)) + b"</urlset>"
    listing = read_listing(body, ListingKind.PAGES, MOST)
    assert (len(listing.entries), listing.entries[-1].url, listing.is_cut) == (MOST, f"/{MOST - 1}", True)
    assert not read_listing(body, ListingKind.PAGES, MOST + 1).is_cut


def test_a_packed_bomb_is_refused() -> None:
    bomb = gzip.compress(b"<urlset>" + b" " * (20 << 20))
    assert kind_of("application/gzip", "https://a.com/sitemap.xml.gz", bomb) is ListingKind.PAGES
    with pytest.raises(BodyRefused, match="times as many"):
        unpacked(bomb, LIMITS)
    with pytest.raises(BodyRefused, match="more than 1048576 bytes"):
        unpacked(bomb, DecodeLimits(size=1 << 20, ratio=1000))


def test_entities_stay_what_they_are() -> None:
    bomb = b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>/&b;&amp;</loc></url></urlset>"
    assert urls(bomb) == ["/&b;&"]


@pytest.mark.parametrize(
    "piece", [b"<loc>", b"<loc> ", b"<url ", b"<link ", b"<link href='", b"<![CDATA[", b"<lastmod>", b" ", b"<", b"]]>"]
)
@pytest.mark.parametrize("kind", ListingKind)
def test_much_of_anything_is_read_at_once(piece: bytes, kind: ListingKind) -> None:
    """Quadratic work would take many minutes here."""
    body = b"<urlset><loc>" + piece * (300_000 // len(piece))
    assert len(read_listing(body, kind, MOST).entries) <= 2


@given(st.binary(max_size=300), st.sampled_from(ListingKind))
def test_any_bytes_are_a_listing(body: bytes, kind: ListingKind) -> None:
    listing = read_listing(b"<urlset>" + body, kind, 3)
    assert len(listing.entries) <= 3


@pytest.mark.parametrize(
    ("content_type", "url", "body"),
    [
        ("text/html", "https://a.com/", b"<html>see <code>sitemap</code></html>"),
        ("image/png", "https://a.com/x.png", b"<urlset>"),
        ("text/plain", "https://a.com/notes.txt", b"https://a.com/1"),
        ("application/gzip", "https://a.com/sitemap.xml.gz", b"\x1f\x8bnothing"),
        ("application/gzip", "https://a.com/data.tar.gz", gzip.compress(b"data", mtime=0)),
    ],
)
def test_what_is_no_listing_is_none(content_type: str, url: str, body: bytes) -> None:
    assert kind_of(content_type, url, body) is None


def test_the_urls_of_a_listing_are_followed_up_to_so_many_bytes() -> None:
    rules = UrlRules()
    page = rules.identify("https://a.com/sitemap.xml")
    listing = UrlListing(ListingKind.TEXT, [ListedUrl(f"https://a.com/{n}", 0) for n in range(9)], is_cut=False)
    followed = [
        [found.url for found in followed_entries(rules, page, listing, most)] for most in (0, 14, 15, 44, 45, 999)
    ]
    assert [len(urls) for urls in followed] == [0, 0, 1, 2, 3, 9]
    assert followed[4] == ["https://a.com/0", "https://a.com/1", "https://a.com/2"]
