"""The search document of a uri: a pure function of what the store knows about it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias
from urllib.parse import unquote

import msgspec
import xxhash

from weft.linkindex.records import Doc, UriInfo
from weft.model.url import Uri, UrlRefused, domain_of, identity_of, url_of
from weft.search.analysis import language_of

ANCHORS: Final = 50
"""Different anchor texts that a document holds."""
Said: TypeAlias = tuple[bytes, bytes]
"""Who links to a page, and with what words."""
LONGEST_ADDRESS: Final = 256
"""Characters of an address whose words are searched; what follows is data that a program put there."""


class SearchDocument(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What is searched of a page; of one that is only referenced, its address and the words of its references."""

    uri: str
    crawled: bool
    references: int
    language: str = ""
    """Its first part, in lower case, such as `en`."""
    title: str = ""
    description: str = ""
    headings: list[str] = []
    text: str = ""
    anchors: list[str] = []
    changed: int = 0
    """When the content became what it is, in milliseconds since 1970; 0: not crawled."""
    canonical: str = ""
    """The uri that the page names in its place; empty: itself."""
    simhash: int = 0

    @property
    def url_text(self) -> str:
        """The beginning of the address as text: its words are searched too."""
        return unquote(url_of(Uri(self.uri), "").removeprefix("://")[:LONGEST_ADDRESS], errors="replace")

    @property
    def key(self) -> int:
        return key_of(self.uri)

    @property
    def group(self) -> int:
        """The same for all pages that name one canonical page, and for that page itself."""
        return key_of(self.canonical or self.uri)

    def digest(self) -> bytes:
        """By which two documents are compared."""
        return xxhash.xxh3_128_digest(_encode(self))


_encode: Final = msgspec.msgpack.Encoder().encode


def key_of(uri: str) -> int:
    """A uri, or a domain, as a number of 64 bits."""
    return xxhash.xxh3_64_intdigest(uri.encode())


def make_document(
    uri: str, info: UriInfo, doc: Doc | None, changed: int, *, is_gone: bool, anchors: Sequence[Said]
) -> SearchDocument | None:
    """None: nothing finds this uri. It is unknown, known to be gone, or asks not to be found.

    `doc` is what a loaded page says; `anchors` are the words of its inlinks, or of some of many, in the order of their
    sources.
    """
    if info.docs:
        return None if doc is not None and doc.noindex else _loaded(uri, info, doc or Doc(), changed, anchors)
    if is_gone or not info.references:
        return None
    return SearchDocument(
        uri=uri, crawled=False, references=info.references, anchors=_distinct(uri, info.references, anchors)
    )


def _loaded(uri: str, info: UriInfo, doc: Doc, changed: int, anchors: Sequence[Said]) -> SearchDocument:
    return SearchDocument(
        uri=uri,
        crawled=True,
        references=info.references,
        language=language_of(doc.language),
        title=doc.title,
        description=doc.description,
        headings=doc.headings,
        text=doc.text,
        anchors=_distinct(uri, info.references, anchors),
        changed=changed,
        canonical=_uri_of(doc.canonical, uri),
        simhash=doc.simhash,
    )


def _distinct(uri: str, references: int, anchors: Sequence[Said]) -> list[str]:
    """The most frequent first; of those that are as frequent, the first. Of too many each domain has its share."""
    counts = Counter(words for _, words in anchors if words)
    chosen = [words for words, _ in counts.most_common()]
    if len(chosen) > ANCHORS:
        chosen = _shared_out(uri, references, anchors)[:ANCHORS]
    return [words.decode(errors="replace") for words in chosen]


def _shared_out(uri: str, references: int, anchors: Sequence[Said]) -> list[bytes]:
    """What each domain says most often, then what each says second: no number of pages of one domain keeps out the
    words of another. In each round, what more domains say comes first; among equals a hash decides, which no name is
    sure of."""
    by_domain: defaultdict[str, Counter[bytes]] = defaultdict(Counter)
    for source, words in anchors:
        if words:
            by_domain[domain_of(Uri(source.decode()))][words] += 1
    domains = Counter(words for said in by_domain.values() for words in said)
    places: dict[bytes, tuple[int, int, int]] = {}
    for domain, said in by_domain.items():
        luck = xxhash.xxh3_64_intdigest(f"{references} {uri} {domain}".encode())
        for turn, (words, _) in enumerate(said.most_common(ANCHORS)):
            place = turn, -domains[words], luck
            places[words] = min(place, places.get(words, place))
    return sorted(places, key=places.__getitem__)


def _uri_of(canonical: str, own: str) -> str:
    if not canonical:
        return ""
    try:
        found = identity_of(canonical).uri
    except (UrlRefused, ValueError):
        return ""
    return "" if found == own else found
