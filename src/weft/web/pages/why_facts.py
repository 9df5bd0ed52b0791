"""Why a page was or was not fetched, as facts for people: each a name, words, and where there is one, a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.answers.host_now import HostNow
from weft.answers.why import Hop, LinkHistory, RobotsNow, Why
from weft.model.fetch_error import FetchError

_PLACES: Final = {
    "new": "waits for its first fetch",
    "given": "handed over, fetched soon",
    "due": "",
    "hidden": "will not be fetched",
}


class WhyFact(NamedTuple):
    name: str
    words: str
    at: str = ""
    """A moment as text."""
    url: str = ""
    """A page that the words are about; shown after them."""


def why_facts(why: Why) -> list[WhyFact]:
    """From what decides most to what happens at this moment."""
    return list(_facts(why))


def _facts(why: Why) -> Iterator[WhyFact]:
    if why.record:
        yield WhyFact("Next fetch", _PLACES[why.record.place], why.record.due if why.record.place == "due" else "")
    elif why.control:
        yield WhyFact("Next fetch", "waits for its first fetch")
    if why.refusal:
        # A page that was found under other settings is fetched all the same.
        is_fetched = why.record is not None and why.record.place != "hidden"
        yield WhyFact("If found now", f"refused: {why.refusal}") if is_fetched else WhyFact("Not crawled", why.refusal)
    yield WhyFact("Site", why.scope or "none of your sites covers it")
    if why.budget:
        yield WhyFact("Budget", f"{why.budget.taken:,} of {why.budget.most:,} links of the site are used")
    if why.record:
        yield _found(why.record, is_sitemap=bool(why.sitemap_of))
        yield from _history(why.record, why.leads_to)
    if why.sitemap_of:
        yield WhyFact("Sitemap", f"named by the robots.txt of {why.sitemap_of}")
    if why.robots:
        yield WhyFact("robots.txt", _robots(why.robots))
    if isinstance(why.host, HostNow):
        yield from (WhyFact("Its server now", words) for words in why.host.words)


def _found(record: LinkHistory, *, is_sitemap: bool) -> WhyFact:
    added = "in robots.txt" if is_sitemap else "a start page"
    return WhyFact("Found", "on" if record.source_url else added, record.discovered, record.source_url)


def _history(record: LinkHistory, leads_to: list[Hop]) -> Iterator[WhyFact]:
    if record.fetched:
        outcome = FetchError.of(record.error).sentence if record.error else f"status {record.status}"
        failures = f", {record.failures} failures in a row" if record.failures > 1 else ""
        yield WhyFact("Last try", outcome + failures, record.fetched)
    for hop in leads_to:
        outcome = hop.error or (f"status {hop.status}" if hop.status else "not fetched yet")
        yield WhyFact("Leads to", outcome, url=hop.url)
    if record.canonical_url:
        by = "fetched instead, by a rule:" if record.place == "hidden" else "the page says that this stands for it:"
        yield WhyFact("Canonical", by, url=record.canonical_url)


def _robots(robots: RobotsNow) -> str:
    verdict = "allows it" if robots.allowed else "forbids it"
    by = f": {robots.line}" if robots.line else ", no line matches"
    delay = f"; asks for {robots.crawl_delay:g} s between requests" if robots.crawl_delay else ""
    return f"{verdict}{by}{delay}"
