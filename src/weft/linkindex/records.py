"""The values of the link index: what a page's cells hold, as bytes and back."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from zstandard import ZstdCompressor, ZstdDecompressor


class Outlink(msgspec.Struct, omit_defaults=True, frozen=True):
    """One reference as the page makes it: where to, with what words, marked how."""

    url: str
    anchor: str = ""
    rel: str = ""


class PageRecord(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """`page:cur`: what a page says about others; one outlink per target uri."""

    url: str
    title: str = ""
    outlinkcount: int
    left_out: int = 0
    """Targets whose links were left out, because the page has too many."""
    outlinks: list[Outlink]


class PageAddress(msgspec.Struct, frozen=True):
    """The beginning of a `page:cur`, for those who do not need its outlinks."""

    url: str
    outlinkcount: int
    title: str = ""
    left_out: int = 0


class DocFacts(msgspec.Struct, omit_defaults=True, frozen=True, kw_only=True):
    """What the last response that decided about a uri was, without its text."""

    status: int = 0
    type: str = ""
    """Media type in lower case, without parameters."""
    bytes: int | None = None
    """Of the body as it was sent: without transfer coding, in its content encoding; None: not known."""
    location: str = ""
    """The URL that it redirects to."""
    canonical: str = ""
    """The URL that the page names in its place, if that is another page."""
    noindex: bool = False
    nofollow: bool = False
    language: str = ""
    description: str = ""
    h1: str = ""
    """The first heading of the first level."""
    simhash: int = 0
    """By which pages with nearly the same text are found; 0 without a real text."""


class Doc(DocFacts, omit_defaults=True, frozen=True, kw_only=True):
    """What a page says itself: the text that is searched. A file, a redirect or a 404 has the facts alone."""

    title: str = ""
    headings: list[str] = []
    text: str = ""


class Version(NamedTuple):
    """When a page was fetched (milliseconds since 1970) and what its content hashes to; the larger one is newer."""

    fetched: int
    content: bytes

    def encode(self) -> bytes:
        return b"%d %b" % (self.fetched, self.content.hex().encode())

    @classmethod
    def decode(cls, data: bytes) -> Version:
        fetched, _, content = data.partition(b" ")
        return cls(int(fetched), bytes.fromhex(content.decode()))


GONE_CONTENT: Final = b"\xff" * 16
"""What a deletion has for content: at one time a delete wins over a load."""


class UriInfo(NamedTuple):
    """What is known of a uri: pages that link to it, how many of them say http, and 1 if its content was loaded."""

    references: int = 0
    plain: int = 0
    docs: int = 0

    def encode(self) -> bytes:
        return b"%d %d %d" % self

    @classmethod
    def decode(cls, data: bytes) -> UriInfo:
        references, plain, docs = data.split()
        return cls(int(references), int(plain), int(docs))


class DomainInfo(NamedTuple):
    """What is known of a domain: uris that exist in it, and references to them."""

    pages: int = 0
    references: int = 0

    def encode(self) -> bytes:
        return b"%d %d" % self

    @classmethod
    def decode(cls, data: bytes) -> DomainInfo:
        pages, references = data.split()
        return cls(int(pages), int(references))


class Totals(NamedTuple):
    """What is known of all domains of one base: how many there are, their uris, and references to those."""

    domains: int = 0
    pages: int = 0
    references: int = 0

    def encode(self) -> bytes:
        return b"%d %d %d" % self

    @classmethod
    def decode(cls, data: bytes) -> Totals:
        domains, pages, references = data.split()
        return cls(int(domains), int(pages), int(references))


UNKNOWN_URI: Final = UriInfo()
UNKNOWN_DOMAIN: Final = DomainInfo()

encode_page: Final = msgspec.json.Encoder().encode
decode_page: Final = msgspec.json.Decoder(PageRecord).decode
decode_address: Final = msgspec.json.Decoder(PageAddress).decode
encode_since: Final = msgspec.json.Encoder().encode
decode_since: Final = msgspec.json.Decoder(list[int]).decode

_pack_doc: Final = msgspec.msgpack.Encoder().encode
_decode_doc: Final = msgspec.msgpack.Decoder(Doc).decode
_decode_facts: Final = msgspec.msgpack.Decoder(DocFacts).decode
_LONGEST_DOC: Final = 64 << 20
"""Bytes that a stored doc may unpack to; our own are far below."""


def pack_doc(doc: Doc) -> bytes:
    """A doc before compression; empty when it says nothing."""
    return b"" if doc == Doc() else _pack_doc(doc)


compress_doc: Final = ZstdCompressor(level=1).compress
"""A packed doc as it is stored. One compressor for all: making one costs as much as using it."""


def unpack_doc(packed: bytes) -> Doc:
    return _decode_doc(packed) if packed else Doc()


def decompress_doc(stored: bytes) -> bytes:
    """A packed doc from its stored form."""
    # A decompressor of its own: threads must not share one.
    return ZstdDecompressor().decompress(stored, max_output_size=_LONGEST_DOC)


def read_doc(stored: bytes) -> Doc:
    return unpack_doc(decompress_doc(stored))


def read_facts(stored: bytes) -> DocFacts:
    """Without the text, which is passed over."""
    return _decode_facts(decompress_doc(stored))
