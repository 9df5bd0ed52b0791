"""The links of a page, as they are written."""

from __future__ import annotations

from typing import Final

from turbohtml import Element

from weft.config.sections import LimitsSettings
from weft.html import tags
from weft.html.page_text import collapsed, words_within
from weft.html.parsed_page import FoundLink
from weft.html.query_encoding import with_encoded_query

ASCII_SPACE: Final = "\t\n\f\r "
LONGEST_HREF: Final = 65_537
"""One more than what can be a URL: what is cut here is refused where links are joined."""
REL_CHARS: Final = 256

_ADDRESS: Final = {"a": "href", "area": "href", "frame": "src"}
_LABEL: Final = {"area": "alt", "frame": "title"}


def address_in(written: str, charset: str) -> str:
    """An attribute that names a page, on a page in `charset`, ready to be joined with its base."""
    return with_encoded_query(written.strip(ASCII_SPACE)[:LONGEST_HREF], charset)[:LONGEST_HREF]


def read_links(elements: list[Element], limits: LimitsSettings, charset: str) -> list[FoundLink]:
    """All links of the page. How many of them count is decided when it is known where they lead."""
    found: list[FoundLink] = []
    for element in elements:
        tag = element.tag
        href = element.attr(_ADDRESS[tag])
        if href is None:
            continue
        if tag == "a":
            anchor = words_within(element, limits.anchor_chars, tags.LINKS)
        else:
            anchor = collapsed(element.attr(_LABEL[tag]) or "", limits.anchor_chars)
        rel = element.attr("rel")
        marks = collapsed(rel, REL_CHARS).lower() if rel else ""
        found.append(FoundLink(address_in(href, charset), anchor, marks))
    return found
