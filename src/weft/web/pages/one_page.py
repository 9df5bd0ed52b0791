"""One page: what it is, why and when it is fetched, who references it; and its links, text and archived response."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Any, Final

from weft.answers.anchors import AnchorListing
from weft.answers.capture import Capture
from weft.answers.home_index import HomeIndex
from weft.answers.objects import PageAnswer, PageListing
from weft.answers.page_text import PageText
from weft.errors import MgmtError, NotKnown
from weft.model.shown_text import readable_text
from weft.web.api import ANCHORS, CAPTURE, LINKS, PAGE, TEXT, AnchorsParams, LinksParams, UrlParams
from weft.web.changes import CHANGES
from weft.web.charts import bars, line_chart
from weft.web.pages.page import Page
from weft.web.pages.why_facts import WhyFact, why_facts
from weft.web.resources import WebResources

_SHOWN: Final = 10
_ANCHORS: Final = 5
_TITLE_LENGTH: Final = 80
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_UNKNOWN: Final = "unknown.html"


def _page(web: WebResources, asked: UrlParams, found: PageAnswer) -> dict[str, Any]:
    with web.borrowed() as index:
        return {
            "title": _tab_title(found.title or found.url),
            "why": _why(index, found.url),
            "inlinks": _links(index, found.url, out=False),
            "outlinks": _links(index, found.url, out=True) if found.crawled else None,
            **_references(index, found.url),
            "may_be_fetched": any(change.path == "/api/fetch" for change in CHANGES),
        }


def _why(index: HomeIndex, url: str) -> list[WhyFact]:
    """Nothing, if nothing was ever crawled here: what was imported has no control plane."""
    try:
        return why_facts(index.why(url))
    except MgmtError:
        return []


def _links(index: HomeIndex, url: str, *, out: bool) -> PageListing | None:
    try:
        return index.links(url, out=out, limit=_SHOWN)
    except NotKnown:
        return None


def _references(index: HomeIndex, url: str) -> dict[str, Any]:
    """With what words it is referenced, and how often over time; of a page that is only waiting, nothing is known."""
    try:
        anchors, history = index.anchors(url, limit=_ANCHORS), index.reference_history(url)
    except NotKnown:
        return {"anchors": None, "history": None, "chart": None}
    points = [(datetime.fromisoformat(point.at).timestamp(), float(point.references)) for point in history.points]
    return {"anchors": anchors, "history": history, "chart": line_chart(points, time.time())}


def _link_listing(web: WebResources, asked: LinksParams, found: PageListing) -> dict[str, Any]:
    return {"title": _tab_title(f"Links {'of' if asked.direction == 'out' else 'to'} {found.url}")}


def _anchors(web: WebResources, asked: AnchorsParams, found: AnchorListing) -> dict[str, Any]:
    shown = bars([(item.anchor, item.count) for item in found.items])
    return {"title": _tab_title(f"Words of links to {found.url}"), "bars": shown}


def _capture(web: WebResources, asked: UrlParams, found: Capture) -> dict[str, Any]:
    lines = None if found.body is None else [readable_text(line) for line in found.body.splitlines()]
    return {"title": _tab_title(f"Archived response of {found.url}"), "lines": lines}


def _text(web: WebResources, asked: UrlParams, found: PageText) -> dict[str, Any]:
    return {
        "title": _tab_title(f"Text of {found.title or found.url}"),
        "language": found.language if _LANGUAGE.fullmatch(found.language) else "",
        "lines": [line for line in found.text.splitlines() if line.strip()],
    }


def _tab_title(words: str) -> str:
    return readable_text(words[:_TITLE_LENGTH])


PAGES: Final = (
    Page("/page", "page.html", "Page", PAGE, _page, _UNKNOWN),
    Page("/links", "links.html", "Links", LINKS, _link_listing, _UNKNOWN),
    Page("/anchors", "anchors.html", "Words of links", ANCHORS, _anchors, _UNKNOWN),
    Page("/text", "text.html", "Text", TEXT, _text, _UNKNOWN),
    Page("/capture", "capture.html", "Archived response", CAPTURE, _capture, _UNKNOWN),
)
