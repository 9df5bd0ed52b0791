"""What a crawl did, and what became of the URLs that it began with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from weft.cli.crawl_facts import counted
from weft.model.fetch_error import FetchError

if TYPE_CHECKING:
    from weft.config.crawl_sections import DispatcherSettings
    from weft.dispatcher.scope import Scope
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import LinkFacts
    from weft.supervisor.progress import Progress

_MOST_SEEDS: Final = 100
_NOT_MODIFIED: Final = 304
_TOO_MANY: Final = 429


def summary(progress: Progress, mgmt: Mgmt, reason: str, home: Path, settings: DispatcherSettings) -> list[str]:
    counts = progress.counts
    seconds = max(progress.seconds, 0.001)
    pages, found = progress.total("pages"), progress.total("discovered")
    lines = [f"{reason}: {pages} pages in {seconds:.1f} s ({pages / seconds:.1f} pages/s), {found} links found"]
    if counts is not None:
        lines.append(f"links: {counted(counts.links)}")
        if counts.errors:
            lines.append(f"errors: {counted(dict(sorted(counts.errors.items())))}")
        if failed := counts.chunks.get("error", 0):
            lines.append(f"not in the index: {failed} chunks that could not be built; `weft retry` offers them again")
    if any(progress.refused().values()):
        lines.append(f"left out: {counted(progress.refused())}")
    fresh = (progress.index.get("freshness") or {}).get("p50")
    if fresh is not None:
        lines.append(f"fresh: {fresh:.1f} s from the end of a fetch until it is in the answers (half of them)")
    lines += seeds_without_a_page(mgmt, settings)
    lines.append(f"ask it: weft top --home {home}")
    return lines


def seeds_without_a_page(mgmt: Mgmt, settings: DispatcherSettings) -> list[str]:
    """A line for each URL that was given and gave nothing, with the reason."""
    from weft.dispatcher.scope import Scope
    from weft.model.url import identity_of

    sites = mgmt.sites()
    scope = Scope(sites, settings)
    seeds = [seed for site in sites if not site.is_excluded for seed in site.seeds]
    found = mgmt.known([identity_of(seed).uri for seed in seeds[:_MOST_SEEDS]])
    told = ((seed, _problem(mgmt, scope, found.get(identity_of(seed).uri))) for seed in seeds[:_MOST_SEEDS])
    lines = [f"seed {seed}: {problem}" for seed, problem in told if problem]
    if len(seeds) > _MOST_SEEDS:
        lines.append(f"{len(seeds) - _MOST_SEEDS} more seeds; `weft why URL` tells about each")
    return lines


def _problem(mgmt: Mgmt, scope: Scope, link: LinkFacts | None) -> str:
    if link is None or link.state in ("pending", "crawling"):
        return "" if link is not None and link.status else "it was not fetched yet"
    if link.error == FetchError.ROBOTS:
        return f"{_robots_problem(mgmt, link.url)} (robots)"
    if link.state == "error":
        return f"{FetchError.of(link.error).sentence} ({link.error})"
    if link.status < 300 or link.status == _NOT_MODIFIED:
        return ""
    return f"status {link.status}{_leads(scope, link.location)}"


def _robots_problem(mgmt: Mgmt, url: str) -> str:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = mgmt.robots([origin]).get(origin)
    if known is None or not known.status:
        return "its server gave no answer when it was asked for robots.txt"
    if known.status >= 500 or known.status == _TOO_MANY:
        return f"its robots.txt gave status {known.status}"
    return FetchError.ROBOTS.sentence


def _leads(scope: Scope, location: str) -> str:
    from weft.model.url import UrlRefused, identity_of

    if not location:
        return ""
    try:
        verdict = scope.judge(identity_of(location), 0)
    except UrlRefused:
        return f", leads to {location}, which cannot be crawled"
    out = (
        ", which is out of scope"
        if verdict.site is None
        else f", not crawled: {verdict.refusal.text}"
        if verdict.refusal
        else ""
    )
    return f", leads to {location}{out}"
