"""A page on its way into the link index: everything about it that can be made ready before its state is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, takewhile
from typing import Final, NamedTuple

from weft.config.sections import LimitsSettings
from weft.linkindex.records import (
    GONE_CONTENT,
    Doc,
    Outlink,
    PageRecord,
    Version,
    encode_page,
    pack_doc,
)
from weft.model.domain import Domain, reversed_domain
from weft.model.links import PageLinks, join_links
from weft.model.url import PageUrl, Uri, UrlRules, identity_of


class Outlinks(NamedTuple):
    """The references of a page in columns, one row per target: no object per link."""

    targets: Sequence[bytes]
    domains: Sequence[bytes]
    anchors: Sequence[bytes]
    plain: Sequence[bool]
    """Whether the reference says http."""


NO_OUTLINKS = Outlinks((), (), (), ())
_NO_DOC: Final = Doc()
_DEFAULT_LIMITS: Final = LimitsSettings()


@dataclass(frozen=True, slots=True)
class LoadedPage:
    """One version of a page, or of its absence."""

    uri: bytes
    domain: bytes
    version: Version
    cur: bytes
    """The encoded PageRecord; empty when the page is gone."""
    doc: bytes
    """The packed Doc; empty when there is nothing to tell."""
    outlinks: Outlinks
    moved_to: bytes = b""
    """Of a page that is gone because it redirects now: the uri that it leads to."""
    same_since: int | None = None
    """Not a version, but that what the page said from that time on was seen again at `version.fetched`."""

    @property
    def is_gone(self) -> bool:
        return not self.cur and self.same_since is None


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
    anchors, rels = [link.anchor for link in links], [link.rel for link in links]
    return load_joined(page, fetched, joined, anchors, rels, doc, _DEFAULT_LIMITS)


def load_joined(
    page: PageUrl,
    fetched: int,
    joined: PageLinks,
    anchors: Sequence[str],
    rels: Sequence[str],
    doc: Doc,
    limits: LimitsSettings,
) -> LoadedPage:
    """Like load_page, for links that were joined before; `anchors` and `rels` are in the order of their hrefs.

    Of a page with too many links the first ones count: by its content alone, so that whoever reads it keeps the same.
    """
    targets = rows_of_first(joined.uris)
    rows = targets[: _room(page, joined, targets, anchors, rels, limits)]
    found = [joined.positions[row] for row in rows]
    words = [anchors[position] for position in found]
    outlinks = list(map(Outlink, [joined.urls[row] for row in rows], words, [rels[position] for position in found]))
    record = PageRecord(
        url=page.url,
        title=doc.title,
        outlinkcount=len(outlinks),
        left_out=len(targets) - len(rows),
        outlinks=outlinks,
    )
    cur, packed = encode_page(record), pack_doc(doc)
    return LoadedPage(
        uri=page.uri.encode(),
        domain=_domain_key(page.domain),
        version=Version(fetched, blake2b(cur + b"\0" + packed, digest_size=16).digest()),
        cur=cur,
        doc=packed,
        outlinks=Outlinks(
            targets=[joined.uris[row].encode() for row in rows],
            domains=[_domain_key(joined.domains[row]) for row in rows],
            anchors=[anchor.encode() for anchor in words],
            plain=[joined.is_http[row] for row in rows],
        ),
    )


def _room(
    page: PageUrl,
    joined: PageLinks,
    targets: Sequence[int],
    anchors: Sequence[str],
    rels: Sequence[str],
    limits: LimitsSettings,
) -> int:
    """How many targets (rows of `joined`), from the first on, the index takes from one page."""
    own, most = len(page.uri), limits.page_link_bytes
    # Four bytes a character at most: nearly all pages are far below, and need no sum link by link.
    at_most = own * len(targets) + sum(map(len, joined.urls)) + 4 * sum(map(len, anchors)) + sum(map(len, rels))
    if at_most <= most:
        return min(len(targets), limits.page_targets)
    positions = joined.positions
    costs = (
        own + len(joined.urls[row]) + len(anchors[positions[row]].encode()) + len(rels[positions[row]])
        for row in targets
    )
    return min(count_within(accumulate(costs), most), limits.page_targets)


def count_within(sums: Iterable[int], most: int) -> int:
    """How many of these rising sums are no more than `most`."""
    return sum(1 for _ in takewhile(most.__ge__, sums))


def rows_of_first(uris: Sequence[Uri]) -> Sequence[int]:
    """Where each target stands for the first time, in order."""
    if len(set(uris)) == len(uris):
        return range(len(uris))
    return sorted(dict(zip(reversed(uris), reversed(range(len(uris))), strict=True)).values())


@lru_cache(maxsize=4_096)
def _domain_key(domain: Domain) -> bytes:
    # A page names the same few domains in most of its links, and so do its neighbours.
    return reversed_domain(domain).encode()


def load_gone(page: PageUrl, at: int, doc: Doc = _NO_DOC, moved_to: str = "") -> LoadedPage:
    """The knowledge that there is no such page (any more) at `at`; `doc` describes what is there instead."""
    version, domain = Version(at, GONE_CONTENT), _domain_key(page.domain)
    return LoadedPage(page.uri.encode(), domain, version, b"", pack_doc(doc), NO_OUTLINKS, moved_to.encode())


def load_seen_again(uri: bytes, domain: bytes, at: int, since: int = 0) -> LoadedPage:
    """The knowledge that the page still had, at `at`, the content that it had at `since`.

    A page of which nothing is known from then on stays as it is: its content may be one that was never loaded.
    """
    return LoadedPage(uri, domain, Version(at, b""), b"", b"", NO_OUTLINKS, same_since=since)


def outlinks_of(record: PageRecord) -> Outlinks:
    """The references of a page that was stored before."""
    known = [identity_of(link.url) for link in record.outlinks]
    return Outlinks(
        targets=[page.uri.encode() for page in known],
        domains=[_domain_key(page.domain) for page in known],
        anchors=[link.anchor.encode() for link in record.outlinks],
        plain=[link.url.startswith("http:") for link in record.outlinks],
    )
