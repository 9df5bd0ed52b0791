"""The questions of the API. Their answers are those of `weft.open(home)`, as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from weft.answers.anchors import AnchorItem, AnchorListing
from weft.answers.capture import Capture
from weft.answers.domain_overview import DomainAnswer
from weft.answers.home_index import HomeIndex
from weft.answers.objects import (
    ChangeItem,
    ChangeListing,
    DomainItem,
    LinkItem,
    Listing,
    PageAnswer,
    PageListing,
    TopItem,
    TotalsAnswer,
)
from weft.answers.page_text import PageText
from weft.answers.reference_history import HistorySeries
from weft.answers.search import MOST_RESULTS, SearchItem, SearchListing
from weft.answers.status import Status
from weft.answers.typed_times import milliseconds_of
from weft.answers.why import Why
from weft.search.query_language import LONGEST_QUERY
from weft.web.crawl_api import CRAWL_ENDPOINTS
from weft.web.endpoint import Endpoint, NoParams
from weft.web.operating_api import OPERATING_ENDPOINTS
from weft.web.param_types import Cursor, Domain, Format, Limit, Url
from weft.web.resources import WebResources


class TopParams(msgspec.Struct, frozen=True, kw_only=True):
    domain: Annotated[str, Meta(max_length=1000, description="Only pages of this domain.")] | None = None
    fold: Annotated[bool, Meta(description="One item for pages that say nearly the same.")] = False
    limit: Limit = 20
    cursor: Cursor = None
    format: Format = "json"


class DomainsParams(msgspec.Struct, frozen=True, kw_only=True):
    by: Annotated[Literal["pages", "references"], Meta(description="What they are sorted by.")] = "pages"
    limit: Limit = 20
    cursor: Cursor = None
    format: Format = "json"


class DomainParams(msgspec.Struct, frozen=True, kw_only=True):
    domain: Domain
    limit: Annotated[int, Meta(ge=1, le=1000, description="Most neighbours on each side.")] = 10


class UrlParams(msgspec.Struct, frozen=True, kw_only=True):
    url: Url


class LinksParams(msgspec.Struct, frozen=True, kw_only=True):
    url: Url
    direction: Annotated[Literal["in", "out"], Meta(description="Links to the page, or links that it has.")] = "in"
    limit: Limit = 20
    cursor: Cursor = None
    format: Format = "json"


class AnchorsParams(msgspec.Struct, frozen=True, kw_only=True):
    url: Url
    limit: Limit = 100
    format: Format = "json"


class HistoryParams(msgspec.Struct, frozen=True, kw_only=True):
    url: Url
    points: Annotated[int, Meta(ge=2, le=1000, description="Most points in the answer.")] = 60


class SearchParams(msgspec.Struct, frozen=True, kw_only=True):
    q: Annotated[
        str, Meta(max_length=LONGEST_QUERY, description="Words, phrases, filters; see the documentation of search.")
    ]
    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS, description="Most results in the answer.")] = 10
    cursor: Cursor = None
    per_domain: Annotated[int, Meta(ge=0, le=1000, description="Most results of one domain; 0: any.")] | None = None
    fold: Annotated[bool, Meta(description="One result for pages that say nearly the same.")] = True
    explain: Annotated[bool, Meta(description="How each score came about.")] = False
    format: Format = "json"


class ChangesParams(msgspec.Struct, frozen=True, kw_only=True):
    of: Annotated[str, Meta(max_length=16_000, description="A URL, or a domain as a bare name.")] | None = None
    since: Annotated[str, Meta(max_length=100, description="2026-01-31, 2026-01-31T12:00Z, 36h or 7d.")] | None = None
    kind: Annotated[Literal["links", "pages"], Meta(description="Only changes of links, or of pages.")] | None = None
    limit: Limit = 20
    cursor: Cursor = None
    format: Format = "json"


def _top(web: WebResources, asked: TopParams) -> Listing:
    with web.borrowed() as index:
        return index.top(asked.domain, limit=asked.limit, cursor=asked.cursor, fold=asked.fold)


def _domains(web: WebResources, asked: DomainsParams) -> Listing:
    with web.borrowed() as index:
        return index.domains(asked.by, limit=asked.limit, cursor=asked.cursor)


def _domain(web: WebResources, asked: DomainParams) -> DomainAnswer:
    with web.borrowed() as index:
        return index.domain(asked.domain, limit=asked.limit)


def _page(web: WebResources, asked: UrlParams) -> PageAnswer:
    with web.borrowed() as index:
        return index.page(asked.url)


def _links(web: WebResources, asked: LinksParams) -> PageListing:
    with web.borrowed() as index:
        return index.links(asked.url, out=asked.direction == "out", limit=asked.limit, cursor=asked.cursor)


def _anchors(web: WebResources, asked: AnchorsParams) -> AnchorListing:
    with web.borrowed() as index:
        return index.anchors(asked.url, limit=asked.limit)


def _history(web: WebResources, asked: HistoryParams) -> HistorySeries:
    with web.borrowed() as index:
        return index.reference_history(asked.url, points=asked.points)


def _text(web: WebResources, asked: UrlParams) -> PageText:
    with web.borrowed() as index:
        return index.text(asked.url)


def _capture(web: WebResources, asked: UrlParams) -> Capture:
    with web.borrowed() as index:
        return index.capture(asked.url)


def _why(web: WebResources, asked: UrlParams) -> Why:
    with web.borrowed() as index:
        return index.why(asked.url)


def _search(web: WebResources, asked: SearchParams) -> SearchListing:
    with web.borrowed() as index:
        return search(index, asked)


def search(index: HomeIndex, asked: SearchParams) -> SearchListing:
    return index.search(
        asked.q,
        limit=asked.limit,
        cursor=asked.cursor,
        per_domain=asked.per_domain,
        fold=asked.fold,
        explain=asked.explain,
    )


def _changes(web: WebResources, asked: ChangesParams) -> ChangeListing:
    since = milliseconds_of(asked.since, "since") if asked.since else None
    with web.borrowed() as index:
        return index.changes(asked.of, since=since, kind=asked.kind, limit=asked.limit, cursor=asked.cursor)


def _totals(web: WebResources, asked: NoParams) -> TotalsAnswer:
    with web.borrowed() as index:
        return index.totals()


def _status(web: WebResources, asked: NoParams) -> Status:
    return web.control.status()


TOTALS: Final = Endpoint("/api/totals", "How much the index knows", NoParams, TotalsAnswer, _totals, is_light=True)
TOP: Final = Endpoint("/api/top", "The most referenced pages", TopParams, Listing, _top, TopItem, may_be_unknown=True)
DOMAINS: Final = Endpoint("/api/domains", "The domains, largest first", DomainsParams, Listing, _domains, DomainItem)
DOMAIN: Final = Endpoint(
    "/api/domains/{domain}",
    "One domain at a glance, with its neighbours",
    DomainParams,
    DomainAnswer,
    _domain,
    may_be_unknown=True,
)
PAGE: Final = Endpoint("/api/page", "What is known of a page", UrlParams, PageAnswer, _page, may_be_unknown=True)
LINKS: Final = Endpoint(
    "/api/links",
    "Who references a page, with what words; or whom it references",
    LinksParams,
    PageListing,
    _links,
    LinkItem,
    may_be_unknown=True,
)
ANCHORS: Final = Endpoint(
    "/api/anchors",
    "With what words a page is referenced",
    AnchorsParams,
    AnchorListing,
    _anchors,
    AnchorItem,
    may_be_unknown=True,
)
HISTORY: Final = Endpoint(
    "/api/history",
    "How many references a page had over time",
    HistoryParams,
    HistorySeries,
    _history,
    may_be_unknown=True,
)
TEXT: Final = Endpoint("/api/text", "What a page says", UrlParams, PageText, _text, may_be_unknown=True)
CAPTURE: Final = Endpoint(
    "/api/capture", "The archived response of a page", UrlParams, Capture, _capture, may_be_unknown=True
)
WHY: Final = Endpoint("/api/why", "Why a URL was or was not fetched", UrlParams, Why, _why)
SEARCH: Final = Endpoint(
    "/api/search", "Pages that match words, best first", SearchParams, SearchListing, _search, SearchItem
)
CHANGES: Final = Endpoint(
    "/api/changes",
    "Links and pages that came, went or changed, newest first",
    ChangesParams,
    ChangeListing,
    _changes,
    ChangeItem,
    may_be_unknown=True,
)
STATUS: Final = Endpoint("/api/status", "How the crawl is doing", NoParams, Status, _status, is_light=True)

ENDPOINTS: Final[Sequence[Endpoint[Any]]] = (
    *(TOTALS, STATUS, SEARCH),
    *(TOP, DOMAINS, DOMAIN),
    *(PAGE, LINKS, ANCHORS, HISTORY, TEXT, CAPTURE, WHY),
    CHANGES,
    *CRAWL_ENDPOINTS,
    *OPERATING_ENDPOINTS,
)
