"""What a page says about itself: title, description, language, base, canonical, robots, refresh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from turbohtml import Document, Element, Namespace

from weft.config.sections import LimitsSettings
from weft.html.directives import refresh_in, robots_in
from weft.html.page_links import address_in
from weft.html.page_text import collapsed
from weft.html.parsed_page import Refresh, RobotsDirectives

DESCRIPTION_CHARS: Final = 4_096
LANGUAGE_CHARS: Final = 35
"""RFC 5646, section 4.4.1: enough for every tag that is in use."""


@dataclass(slots=True)
class PageHead:
    """The first of each kind counts; wishes about robots add up."""

    limits: LimitsSettings
    product: str
    charset: str
    """The page's own, in which the queries of its URLs are."""
    title: str | None = None
    base: str | None = None
    canonical: str = ""
    refresh: Refresh | None = None
    robots: RobotsDirectives = field(default_factory=RobotsDirectives)
    named: dict[str, str] = field(default_factory=dict)

    def read(self, elements: Iterable[Element]) -> None:
        readers = {"meta": self._meta, "link": self._link, "base": self._base, "title": self._title}
        for element in elements:
            readers[element.tag](element)

    def _title(self, element: Element) -> None:
        # Drawings have titles too.
        if self.title is None and element.namespace is Namespace.HTML:
            self.title = collapsed(element.text, self.limits.title_chars)

    def _base(self, element: Element) -> None:
        if self.base is None:
            href = element.attr("href")
            self.base = None if href is None else address_in(href, self.charset)

    def _link(self, element: Element) -> None:
        if not self.canonical and "canonical" in (element.attr("rel") or "").lower().split():
            self.canonical = address_in(element.attr("href") or "", self.charset)

    def _meta(self, element: Element) -> None:
        content = element.attr("content")
        if not content:
            return
        instruction = element.attr("http-equiv")
        if instruction is not None:
            self._obey(instruction.strip().lower(), content, element)
        name = (element.attr("name") or element.attr("property") or "").strip().lower()
        if name in ("robots", self.product):
            self.robots |= robots_in(content)
        elif name in ("description", "og:description"):
            self.named.setdefault(name, content)

    def _obey(self, instruction: str, content: str, element: Element) -> None:
        if instruction == "content-language":
            self.named.setdefault(instruction, content)
        elif instruction == "refresh" and self.refresh is None and not _is_for_the_scriptless(element):
            refresh = refresh_in(content)
            self.refresh = refresh and Refresh(refresh.seconds, address_in(refresh.url, self.charset))

    def description(self) -> str:
        written = self.named.get("description") or self.named.get("og:description") or ""
        return collapsed(written, DESCRIPTION_CHARS)

    def language(self, document: Document) -> str:
        root = document.root
        written = root and (root.attr("lang") or root.attr("xml:lang"))
        return collapsed(written or self.named.get("content-language", ""), LANGUAGE_CHARS)


def _is_for_the_scriptless(element: Element) -> bool:
    parent = element.parent
    return isinstance(parent, Element) and parent.tag == "noscript"
