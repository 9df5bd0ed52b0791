"""A page on its way into the link index: everything about it that can be made ready before its state is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from weft.linkindex.records import (
    GONE_CONTENT,
    Doc,
    Outlink,
    PageRecord,
    Version,
    decode_page,
    encode_page,
    pack_doc,
)
from weft.model.domain import reversed_domain
from weft.model.links import join_links
from weft.model.url import PageUrl, UrlRules, identity_of


class Outlinks(NamedTuple):
    """The references of a page in columns, one row per target: no object per link."""

    targets: Sequence[bytes]
    domains: Sequence[bytes]
    anchors: Sequence[bytes]
    plain: Sequence[bool]
    """Whether the reference says http."""


NO_OUTLINKS = Outlinks((), (), (), ())


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """One version of a page, or of its absence."""

    uri: bytes
    domain: bytes
    version: Version
    cur: bytes
    """The encoded PageRecord; empty when the page is gone."""
    doc: bytes
    """The packed Doc; empty when there is nothing to search in."""
    outlinks: Outlinks

    @property
    def is_gone(self) -> bool:
        return not self.cur


class RawLink(NamedTuple):
    """A link as it was found: the href as written, its words, its rel."""

    href: str
    anchor: str = ""
    rel: str = ""


def load_page(
    rules: UrlRules, page: PageUrl, fetched: int, links: Sequence[RawLink], doc: Doc, base: str | None = None
) -> LoadedPage:
    """A page that was fetched at `fetched` (milliseconds since 1970); links are read against `base` or its URL.

    One reference per target: the first anchor text wins. Links that cannot name a page are left out.
    """
    joined = join_links(rules, base or page.url, [link.href for link in links])
    first = dict(reversed(list(zip(joined.uris, range(len(joined.uris)), strict=True))))
    rows = sorted(first.values())
    found = [links[joined.positions[row]] for row in rows]
    outlinks = [Outlink(joined.urls[row], link.anchor, link.rel) for row, link in zip(rows, found, strict=True)]
    cur = encode_page(PageRecord(url=page.url, title=doc.title, outlinkcount=len(outlinks), outlinks=outlinks))
    packed = pack_doc(doc)
    return LoadedPage(
        uri=page.uri.encode(),
        domain=reversed_domain(page.domain).encode(),
        version=Version(fetched, blake2b(cur + b"\0" + packed, digest_size=16).digest()),
        cur=cur,
        doc=packed,
        outlinks=Outlinks(
            targets=[joined.uris[row].encode() for row in rows],
            domains=[reversed_domain(joined.domains[row]).encode() for row in rows],
            anchors=[link.anchor.encode() for link in found],
            plain=[joined.is_http[row] for row in rows],
        ),
    )


def load_gone(page: PageUrl, at: int) -> LoadedPage:
    """The knowledge that there is no such page (any more) at `at`."""
    uri, domain = page.uri.encode(), reversed_domain(page.domain).encode()
    return LoadedPage(uri, domain, Version(at, GONE_CONTENT), b"", b"", NO_OUTLINKS)


def outlinks_of(cur: bytes) -> Outlinks:
    """The references of a page that was stored before."""
    record = decode_page(cur)
    known = [identity_of(link.url) for link in record.outlinks]
    return Outlinks(
        targets=[page.uri.encode() for page in known],
        domains=[reversed_domain(page.domain).encode() for page in known],
        anchors=[link.anchor.encode() for link in record.outlinks],
        plain=[link.url.startswith("http:") for link in record.outlinks],
    )
