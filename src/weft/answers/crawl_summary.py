"""What a crawl did, and what became of the seeds that gave no page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from weft.answers.crawl_progress import CrawlProgress
from weft.answers.disk import Disk
from weft.answers.link_outcomes import missed_of
from weft.config.sections import DispatcherSettings
from weft.dispatcher.scope import Scope
from weft.mgmt.api import OperatorCalls
from weft.mgmt.values import LinkFacts, LinkState, RestingHosts
from weft.model.fetch_error import FetchError
from weft.model.url import UrlRefused, identity_of

_MOST_SEEDS: Final = 100
_NOT_MODIFIED: Final = 304
_FIRST_ERROR: Final = 400
_TOO_MANY: Final = 429
_MOST_REDIRECTS: Final = 5
FINISHED: Final = "finished"
"""Why a crawl ended that came to its own end."""


class SeedProblem(msgspec.Struct, frozen=True):
    """A seed without a page, and why, as a clause for people."""

    url: str
    problem: str


class CrawlSummary(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    """Why the crawl ended."""
    pages: int
    seconds: float
    discovered: int
    links: dict[str, int] | None
    """By state; None: the control plane was never asked."""
    statuses: dict[str, int]
    """Crawled links, where the answer was an error status."""
    errors: dict[str, int]
    """Links without an answer, by class."""
    refused: dict[str, int]
    """Links that were found and not taken, by the reason."""
    missed: dict[str, int]
    """Pages that could not be had now and may be had later, by status or class of error."""
    left_behind: RestingHosts
    """Hosts that asked for more patience than a crawl has."""
    failed_chunks: int
    """Chunks that could not be built, so their pages are not in the index."""
    unbuilt_chunks: int = 0
    """Chunks of fetched pages that wait to be built: the next start builds them."""
    search_waits: int = 0
    """Documents that search had still to write, because of links to them: the next start writes them."""
    freshness: float | None
    """Seconds from the end of a fetch until it is in the answers; half of them took longer."""
    disk: Disk
    was_full: bool
    """Whether the disk was full at some time."""
    seeds: list[SeedProblem]
    more_seeds: int
    """Seeds that were not looked at, because there are so many."""
    led_to: dict[str, str]
    """Hosts that nobody named, by the seed whose redirects led there."""
    has_no_page: bool
    """Whether none of the seeds gave a page, in this crawl or before."""

    @property
    def is_complete(self) -> bool:
        """Whether everything was had that was wanted: whoever sets a limit does not want every page."""
        is_short = self.reason == FINISHED and (self.missed or self.left_behind.links)
        return not (is_short or self.has_no_page or self.was_full)


def crawl_summary(
    progress: CrawlProgress,
    mgmt: OperatorCalls,
    reason: str,
    settings: DispatcherSettings,
    named: Sequence[str] = (),
) -> CrawlSummary:
    """`named` are the seeds that this crawl was started with, if any were named."""
    counts = progress.counts
    known = [seed for site in mgmt.sites() if not site.is_excluded for seed in site.seeds]
    seeds = list(dict.fromkeys([*named, *known]))
    problems = _seeds_without_a_page(mgmt, settings, seeds[:_MOST_SEEDS])
    without = {problem.url for problem in problems}
    errors = dict(sorted(counts.errors.items())) if counts else {}
    statuses = counts.statuses if counts else {}
    is_finished = reason == FINISHED
    return CrawlSummary(
        reason=reason,
        pages=progress.total("pages"),
        seconds=progress.seconds,
        discovered=progress.total("discovered"),
        links=counts.links if counts else None,
        statuses=statuses,
        errors=errors,
        refused=progress.refused(),
        missed=missed_of(statuses, errors),
        left_behind=progress.left_behind() if is_finished else RestingHosts(0, []),
        failed_chunks=counts.chunks.get("error", 0) if counts else 0,
        unbuilt_chunks=sum(counts.chunks.get(task, 0) for task in ("crawled", "building", "waiting")) if counts else 0,
        search_waits=progress.search_waits(),
        freshness=(progress.index.get("freshness") or {}).get("p50"),
        disk=progress.disk,
        was_full=progress.was_full,
        seeds=problems,
        more_seeds=max(0, len(seeds) - _MOST_SEEDS),
        has_no_page=bool(seeds) and not progress.total("pages") and without.issuperset((named or seeds)[:_MOST_SEEDS]),
        led_to={site.led_from: site.name for site in mgmt.sites() if site.led_from and not site.is_excluded},
    )


def _seeds_without_a_page(mgmt: OperatorCalls, settings: DispatcherSettings, seeds: list[str]) -> list[SeedProblem]:
    scope = Scope(mgmt.sites(), settings)
    uris = [identity_of(seed).uri for seed in seeds]
    found = mgmt.known(uris)
    problems = (_problem(mgmt, scope, found.get(uri)) for uri in uris)
    return [SeedProblem(seed, problem) for seed, problem in zip(seeds, problems, strict=True) if problem]


def _problem(mgmt: OperatorCalls, scope: Scope, link: LinkFacts | None) -> str:
    if link is None or link.state in (LinkState.PENDING, LinkState.CRAWLING):
        if link is None or not link.status:
            return "not fetched yet"
        return "" if link.status < _FIRST_ERROR else f"status {link.status}, waiting to be fetched again"
    if link.error == FetchError.ROBOTS:
        return f"{_robots_problem(mgmt, link.url)} (robots)"
    if link.error:
        # Also where a response was archived: one that is too large is fetched and gives no page.
        return f"{FetchError.of(link.error).sentence} ({link.error})"
    if _is_answered(link) or _leads_to_an_answer(mgmt, link):
        return ""
    return f"status {link.status}{_leads(scope, link.location)}"


def _is_answered(link: LinkFacts) -> bool:
    return bool(link.status) and (link.status < 300 or link.status == _NOT_MODIFIED) and not link.error


def _leads_to_an_answer(mgmt: OperatorCalls, link: LinkFacts | None) -> bool:
    """Whether the redirects of a link end at a page that was fetched."""
    for _ in range(_MOST_REDIRECTS):
        if link is None or not link.location:
            return False
        try:
            target = identity_of(link.location).uri
        except UrlRefused:
            return False
        link = mgmt.known([target]).get(target)
        if link is not None and _is_answered(link):
            return True
    return False


def _robots_problem(mgmt: OperatorCalls, url: str) -> str:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = mgmt.robots([origin]).get(origin)
    if known is None or not known.status:
        return "its server did not answer the request for robots.txt"
    if known.status >= 500 or known.status == _TOO_MANY:
        return f"its robots.txt could not be fetched: status {known.status}"
    return FetchError.ROBOTS.sentence


def _leads(scope: Scope, location: str) -> str:
    if not location:
        return ""
    try:
        verdict = scope.judge(identity_of(location), 0)
    except UrlRefused:
        return f", leads to {location}, which cannot be crawled"
    if verdict.site is None:
        return f", leads to {location}, which is out of scope"
    return f", leads to {location}" + (f", not crawled: {verdict.refusal.text}" if verdict.refusal else "")
