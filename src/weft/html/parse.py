"""A page from its bytes: the one way into this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from turbohtml import Element

from weft.config.sections import LimitsSettings
from weft.html import tags
from weft.html.charset import read_document
from weft.html.directives import PRODUCT
from weft.html.fingerprint import fingerprint_and_simhash
from weft.html.page_head import PageHead
from weft.html.page_links import read_links
from weft.html.page_text import text_of, words_within
from weft.html.parsed_page import ParsedPage
from weft.html.tree import dissolve, find_elements, leave_only_seen

HEADINGS_CHARS: Final = 65_536
"""All headings of a page together; one of them is cut like a title."""

_DEFAULT_LIMITS: Final = LimitsSettings()


def parse_page(
    body: bytes, content_type: str = "", limits: LimitsSettings = _DEFAULT_LIMITS, product: str = PRODUCT
) -> ParsedPage:
    """Read a page. Any bytes give one, the more hostile the emptier; `content_type` is the header's value."""
    document = read_document(body, content_type)
    found = find_elements(document)
    charset = document.encoding or ""
    head = PageHead(limits, product.lower(), charset)
    head.read(found.head)
    leave_only_seen(document, found)
    links = read_links(found.links, limits, charset)
    dissolve(found.links)
    headings = _headings(found.headings, limits.title_chars)
    text = text_of(document)
    more_text = len(text) > limits.text_chars
    if more_text:
        text = text[: limits.text_chars].rstrip()
    title = head.title or ""
    fingerprint, simhash = fingerprint_and_simhash(text, [title, *headings.words])
    cut = {"text": more_text, "headings": headings.is_cut}
    return ParsedPage(
        title=title,
        description=head.description(),
        language=head.language(document),
        headings=headings.words,
        h1=headings.h1,
        text=text,
        links=links,
        base=head.base or "",
        canonical=head.canonical,
        robots=head.robots,
        refresh=head.refresh,
        charset=charset,
        fingerprint=fingerprint,
        simhash=simhash,
        cut=[name for name, is_cut in cut.items() if is_cut],
    )


class _Headings(NamedTuple):
    words: list[str]
    """Of each heading that has some."""
    h1: str
    is_cut: bool
    """Whether there are more than fit."""


def _headings(elements: Sequence[Element], longest: int) -> _Headings:
    kept: list[str] = []
    h1 = ""
    room = HEADINGS_CHARS
    for element in elements:
        if not room:
            return _Headings(kept, h1, is_cut=True)
        words = words_within(element, min(longest, room), tags.HEADINGS)
        if words:
            kept.append(words)
            room -= len(words)
            h1 = h1 or (words if element.tag == "h1" else "")
    return _Headings(kept, h1, is_cut=False)
