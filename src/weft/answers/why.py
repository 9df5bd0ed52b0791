"""Why a URL was or was not fetched, and when it is due: everything that decides about it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import msgspec

from weft.answers.host_now import HostNow, HostSilent, host_now
from weft.answers.objects import moment
from weft.answers.view import View
from weft.config import Settings
from weft.config.settings import product_token
from weft.dispatcher.budgets import Budgets
from weft.dispatcher.domain_limit import domain_limit_refusal
from weft.dispatcher.link_records import LinkPhase, LinkRecord, decode_record, link_column
from weft.dispatcher.scope import Scope
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import LinkFacts
from weft.model.domain import reversed_domain
from weft.model.fetch_error import FetchError
from weft.model.refusal import Refusal
from weft.model.site import Site
from weft.model.url import PageUrl, Uri, UrlRules, domain_of
from weft.robots.policy import policy
from weft.store.api import Reader
from weft.store.tables import Table
from weft.urlserver.robots_sitemaps import sitemaps_of

MOST_HOPS: Final = 10
"""Redirects of a chain that are shown."""


class BudgetUse(msgspec.Struct, frozen=True):
    most: int
    taken: int


class LinkHistory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the dispatcher remembers of a link; moments as text."""

    place: str
    """Where it waits: new, given, due or hidden."""
    depth: int
    discovered: str = ""
    fetched: str = ""
    """When its last fetch ended; `status`, `error` and `failures` say how."""
    decided: str = ""
    """When the last fetch ended that decided what the index holds of it; later ones failed, or found it unchanged."""
    due: str = ""
    """Empty though it is due: at once."""
    due_because: str = ""
    """Why then, as a clause."""
    changed: str = ""
    source: str = ""
    """The page that it was found on: its uri, and its URL."""
    source_url: str = ""
    status: int = 0
    error: str = ""
    failures: int = 0
    location: str = ""
    canonical: str = ""
    canonical_url: str = ""


class Hop(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a redirect leads, and what came of that."""

    uri: str
    url: str
    status: int = 0
    error: str = ""


class RobotsNow(msgspec.Struct, frozen=True):
    """What robots.txt says to the URL."""

    origin: str
    status: int
    expires: str
    crawl_delay: float | None
    allowed: bool
    line: str
    """The line that decides."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    uri: str
    domain: str
    known: bool
    scope: str | None
    """The site that covers it."""
    refusal: str | None
    budget: BudgetUse | None
    record: LinkHistory | None
    leads_to: list[Hop]
    sitemap_of: str | None
    """The origin whose robots.txt names it as a sitemap."""
    control: LinkFacts | None
    robots: RobotsNow | None
    host: HostNow | HostSilent


def why(reader: Reader, mgmt: OperatorCalls, settings: Settings, rules: UrlRules, page: PageUrl) -> Why:
    record = _record(reader, page)
    link = mgmt.known([page.uri]).get(page.uri)
    scope = Scope(mgmt.sites(), settings.dispatcher)
    # Nothing but a seed has no record, and what nobody knows would be found on a page.
    verdict = scope.judge(page, record.depth if record else 0 if link else 1)
    is_known = record is not None or link is not None
    not_entered = None if is_known else domain_limit_refusal(reader, scope, page, settings.dispatcher.max_domains)
    url = record.url if record else link.url if link else page.url
    return Why(
        url=url,
        uri=page.uri,
        domain=page.domain,
        known=is_known,
        scope=verdict.site.name if verdict.site else None,
        refusal=_refusal(record, verdict.refusal or not_entered),
        budget=_budget(reader, verdict.site),
        record=_history(record, partial(_shown_url, reader)) if record else None,
        leads_to=_chain(reader, page, record),
        sitemap_of=_sitemap_of(mgmt, settings, rules, page._replace(url=url)),
        control=link,
        robots=_robots(mgmt, settings, url),
        host=host_now(mgmt, settings, url),
    )


def _record(reader: Reader, page: PageUrl) -> LinkRecord | None:
    domain = reversed_domain(page.domain).encode()
    cell = reader.get(Table.LINKS, [link_column(domain, page.uri.encode())])[0]
    return decode_record(cell.value) if cell else None


def _refusal(record: LinkRecord | None, now: Refusal | None) -> str | None:
    """Why it is not crawled: what its record holds, else what would be decided now."""
    if record is not None and record.reason:
        return record.reason
    return now.text if now else None


def _budget(reader: Reader, site: Site | None) -> BudgetUse | None:
    if site is None or site.settings.budget is None:
        return None
    return BudgetUse(site.settings.budget, Budgets(reader).taken(site.name))


def _shown_url(reader: Reader, uri: str) -> str:
    view = View(reader)
    return view.urls([Uri(uri)], view.infos([Uri(uri)]))[0] if uri else ""


def _history(record: LinkRecord, url_of_uri: Callable[[str], str]) -> LinkHistory:
    def told(at: int) -> str:
        return moment(at) if at else ""

    return LinkHistory(
        place=record.phase.value,
        depth=record.depth,
        discovered=told(record.discovered),
        fetched=told(record.fetched),
        decided=told(record.decided),
        due=told(record.due),
        due_because=_due_because(record),
        changed=told(record.changed),
        source=record.source,
        source_url=url_of_uri(record.source),
        status=record.status,
        error=record.error,
        failures=record.failures,
        location=record.location,
        canonical=record.canonical,
        canonical_url=url_of_uri(record.canonical),
    )


def _due_because(record: LinkRecord) -> str:
    if record.phase is not LinkPhase.DUE:
        return ""
    if record.is_wanted_at_once:
        return "wanted at once"
    if record.failures:
        return "another try after a failure"
    if record.announced:
        return "a sitemap says that it changed"
    return "by how often it changes, or as its site says" if record.interval else ""


def _chain(reader: Reader, page: PageUrl, record: LinkRecord | None) -> list[Hop]:
    """Where redirects lead, hop by hop; a loop ends where it closes."""
    seen: set[str] = {page.uri}
    hops: list[Hop] = []
    while record is not None and record.location and "://" not in record.location and len(hops) < MOST_HOPS:
        uri = Uri(record.location)
        record = _record(reader, page._replace(uri=uri, domain=domain_of(uri)))
        url = record.url if record else _shown_url(reader, uri)
        hops.append(Hop(uri, url) if record is None else Hop(uri, url, record.status, record.error))
        if uri in seen:
            break
        seen.add(uri)
    return hops


def _robots(mgmt: OperatorCalls, settings: Settings, url: str) -> RobotsNow | None:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = mgmt.robots([origin]).get(origin)
    if known is None:
        return None
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    rules = policy(known.status, known.body, product_token(settings.spider), settings.limits.robots_bytes)
    decision = rules.decide(target)
    why = f": {FetchError.of(known.error).sentence}" if known.error else ""
    line = decision.line_text + why
    return RobotsNow(origin, known.status, moment(known.expires), rules.crawl_delay, decision.allowed, line)


def _sitemap_of(mgmt: OperatorCalls, settings: Settings, rules: UrlRules, page: PageUrl) -> str | None:
    """The origin whose robots.txt names this URL as a sitemap: its own host's, or that of the domain's first hosts."""
    hosts = dict.fromkeys([urlsplit(page.url).netloc, page.domain, f"www.{page.domain}"])
    found = mgmt.robots([f"{scheme}://{host}" for host in hosts for scheme in ("https", "http")])
    for origin, robots in found.items():
        named = sitemaps_of(robots, rules, settings.limits.robots_bytes)
        if any(sitemap.uri == page.uri for sitemap in named):
            return origin
    return None
