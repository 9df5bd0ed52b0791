"""The start page, the box that takes words, an address or a domain, and search results."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from weft.answers.objects import TotalsAnswer
from weft.errors import SearchMissing, WeftError
from weft.model.url import UrlRefused
from weft.web.api import SEARCH, TOTALS, SearchParams
from weft.web.endpoint import Endpoint, NoParams
from weft.web.pages.page import Elsewhere, Page
from weft.web.rendering import href
from weft.web.resources import WebResources

_SHOWN: Final = 8
_NAME: Final = re.compile(r"[\w-]+(\.[\w-]+)+\.?(:\d+)?", re.UNICODE)


class FindParams(msgspec.Struct, frozen=True, kw_only=True):
    q: Annotated[str, Meta(max_length=16_000, description="Words, an address or a domain.")] = ""


def _home(web: WebResources, asked: NoParams, found: TotalsAnswer) -> dict[str, Any]:
    with web.borrowed() as index:
        top, changes = index.top(limit=_SHOWN), index.changes(limit=_SHOWN)
    status = web.control.status()
    sites = web.control.read(lambda mgmt: mgmt.sites())
    return {
        "top": top,
        "changes": changes,
        "sites": sites,
        "is_crawling": status.is_crawling,
        "rate": status.rate,
    }


def _go(web: WebResources, asked: FindParams) -> None:
    raise Elsewhere(place_of(web, asked.q.strip()))


def place_of(web: WebResources, typed: str) -> str:
    """Where the app shows what somebody typed: a page, a domain, or what is found by these words."""
    if not typed:
        return "/"
    if " " not in typed and ("://" in typed or ("/" in typed and _NAME.match(typed))):
        return href("/page", url=typed)
    if _NAME.fullmatch(typed) and _is_domain(web, typed):
        return href(f"/domain/{typed.lower()}")
    return href("/search", q=typed)


def _is_domain(web: WebResources, name: str) -> bool:
    """Whether pages of it are known: `index.html` is a word, too."""
    try:
        with web.borrowed() as index:
            index.top(name, limit=1)
    except WeftError:
        return False
    return True


def _ask_search(web: WebResources, asked: SearchParams) -> Any:
    if not asked.q.strip():
        raise Elsewhere("/")
    try:
        return SEARCH.ask(web, asked)
    except (SearchMissing, UrlRefused):
        return None


def _results(web: WebResources, asked: SearchParams, found: Any) -> dict[str, Any]:
    return {
        "title": f"{asked.q[:60]}",
        "query": asked.q,
        "sentence": "" if found else "There is no search index yet. It is built with the first crawl or import.",
    }


_SHOW_SEARCH: Final = Endpoint(SEARCH.path, SEARCH.summary, SEARCH.params, SEARCH.answer, _ask_search)
_GO: Final = Endpoint("/go", "Where the app shows what somebody typed", FindParams, type(None), _go, is_light=True)

PAGES: Final = (
    Page("/", "home.html", "Start", TOTALS, _home),
    Page("/go", "home.html", "Find", _GO),
    Page("/search", "search.html", "Search", _SHOW_SEARCH, _results),
)
