"""A record of an archive, and the head before its content: the header block of WARC, the line of ARC."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from weft.archive.warc_records import NOT_A_PAGE
from weft.errors import WeftError
from weft.intake.source_format import SourceFormat

BEGINS: Final = {
    # Some writers put a byte order mark before a record.
    SourceFormat.WARC: re.compile(rb"(?:\xef\xbb\xbf)?WARC/[0-9][0-9.]*[ \t]*\r?\n"),
    SourceFormat.ARC: re.compile(rb"[a-z][a-z0-9+.-]*:[^\r\n]* \S+ \d{14,17} [^\r\n]+\r?\n", re.IGNORECASE),
}
"""How a record begins."""
ENDS: Final = {SourceFormat.WARC: re.compile(rb"\n\r?\n"), SourceFormat.ARC: re.compile(rb"\n")}
"""How its head ends."""
BEGINS_LATER: Final = {form: re.compile(rb"(?<=\n)" + begins.pattern, begins.flags) for form, begins in BEGINS.items()}
"""A record somewhere in the middle, at the beginning of a line."""

_ARC: Final = re.compile(r"(.+?) (\S+) (\d{14,17}) (\S+)(?: .*)? (\d+)\r?\n?", re.DOTALL)
_FOLDED: Final = re.compile(rb"\r?\n[ \t]+")
_NOT_A_PAGE: Final = NOT_A_PAGE.lower().encode()
REVISIT: Final = "revisit"
_WANTED: Final = ("response", "resource", REVISIT)
_LARGEST_LENGTH: Final = 20
"""Digits: longer numbers are made to hurt."""


class HeadRefused(WeftError):  # noqa: N818 - an answer about the record, not a fault
    """A head from which the length of its record cannot be read."""


class ArchiveRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A whole record of a kind that may describe a page."""

    kind: str
    uri: str
    date: str
    media: str
    """Content type of the block."""
    is_cut: bool
    """Whether whoever wrote it left out a part of the content."""
    body: bytes
    not_a_page: str = ""
    """Why the crawl that wrote it took no page from it."""
    refers_to: str = ""
    """Of a revisit: the URL whose content it repeats; empty: its own."""
    refers_to_date: str = ""
    """When that was fetched; empty: nobody knows."""


class RecordHead(NamedTuple):
    """What a head says; fields that are not there are empty."""

    kind: str
    """response, request, metadata and so on, as WARC calls them."""
    length: int
    uri: str = ""
    date: str = ""
    media: str = ""
    """The content type of the block."""
    is_segment: bool = False
    """Whether the content continues in another record."""
    is_cut: bool = False
    """Whether whoever wrote the record left out a part of the content."""
    not_a_page: str = ""
    """Why the crawl that wrote the record took no page from it."""
    refers_to: str = ""
    refers_to_date: str = ""

    @property
    def is_wanted(self) -> bool:
        """Whether it may say something of a page: a response or that it is the same, what was found without one, or a
        line of a WAT file."""
        return self.kind in _WANTED or (self.kind == "metadata" and self.media.startswith("application/json"))


def head_of(form: SourceFormat, block: bytes) -> RecordHead:
    """Read a head, from its first byte to the empty line or line feed that ends it; raises HeadRefused."""
    return _arc_head(block) if form is SourceFormat.ARC else _warc_head(block)


def _warc_head(block: bytes) -> RecordHead:
    fields: dict[bytes, bytes] = {}
    for line in _FOLDED.sub(b" ", block).splitlines()[1:]:
        name, _, value = line.partition(b":")
        fields.setdefault(name.strip().lower(), value.strip())
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > _LARGEST_LENGTH:
        raise HeadRefused(f"its Content-Length is {_shown(length)}; expected a number of bytes")
    return RecordHead(
        kind=_text(fields, b"warc-type").lower(),
        length=int(length),
        uri=_unbracketed(_text(fields, b"warc-target-uri")),
        date=_text(fields, b"warc-date"),
        media=_text(fields, b"content-type"),
        is_segment=b"warc-segment-number" in fields,
        is_cut=b"warc-truncated" in fields,
        not_a_page=_text(fields, _NOT_A_PAGE),
        refers_to=_unbracketed(_text(fields, b"warc-refers-to-target-uri")),
        refers_to_date=_text(fields, b"warc-refers-to-date"),
    )


def _arc_head(block: bytes) -> RecordHead:
    line = _ARC.fullmatch(block.decode("utf-8", "replace"))
    if line is None or len(line[5]) > _LARGEST_LENGTH:
        raise HeadRefused(f"its line is {_shown(block.rstrip())}; expected URL, address, date, type and length")
    kind = "warcinfo" if line[1].startswith("filedesc:") else "response"
    return RecordHead(kind, int(line[5]), uri=line[1], date=line[3], media=line[4])


def _unbracketed(uri: str) -> str:
    """The first edition of the standard has these brackets in its grammar, and wget writes them."""
    return uri.removeprefix("<").removesuffix(">")


def _text(fields: dict[bytes, bytes], name: bytes) -> str:
    return fields.get(name, b"").decode("utf-8", "replace")


def _shown(value: bytes, longest: int = 80) -> str:
    text = value.decode("utf-8", "replace")
    return repr(text) if len(text) <= longest else f"{text[:longest]!r}…"
