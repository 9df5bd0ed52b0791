"""What people want to know about a running crawl: the same facts for a terminal and for a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress


_STATE_NAMES = {"pending": "waiting", "crawling": "being fetched", "error": "failed"}


@dataclass(frozen=True, slots=True)
class Goal:
    """When a crawl ends by itself; without either limit, when everything in scope is fetched."""

    pages: int | None = None
    seconds: float | None = None

    def share_done(self, progress: CrawlProgress) -> float | None:
        shares = []
        if self.pages is not None:
            shares.append(progress.total("pages") / self.pages)
        if self.seconds is not None:
            shares.append(progress.seconds / self.seconds)
        return min(1.0, max(shares)) if shares else None

    def time_left(self, progress: CrawlProgress) -> str:
        known = []
        if self.seconds is not None:
            known.append(max(0.0, self.seconds - progress.seconds))
        if self.pages is not None and progress.rate > 0:
            known.append(max(0, self.pages - progress.total("pages")) / progress.rate)
        if known:
            return f"about {duration(min(known))}"
        if self.pages is None and progress.rate > 0 and progress.waiting:
            return f"at least {duration(progress.waiting / progress.rate)} for the links known now"
        return ""


class Fact(NamedTuple):
    name: str
    value: str
    is_bad: bool = False


def facts_of(progress: CrawlProgress, goal: Goal) -> list[Fact]:
    pages, seconds = progress.total("pages"), max(progress.seconds, 0.001)
    facts = [
        Fact(
            "pages",
            f"{pages:,} in {duration(seconds)}, {progress.rate:.1f}/s now, {pages / seconds:.1f}/s on average",
        )
    ]
    counts = progress.counts
    if counts is not None:
        facts += [Fact("links", link_counts(counts.links)), Fact("found", _found(progress))]
        facts += _queues(progress)
        facts.append(Fact("chunks", counted(counts.chunks)))
        if counts.errors:
            facts.append(Fact("errors", counted(counts.errors)))
    fresh = progress.index.get("freshness") or {}
    if fresh.get("p50") is not None:
        facts.append(Fact("fresh", f"{fresh['p50']:.1f} s from fetch to answer, p99 {fresh['p99']:.1f} s"))
    facts.append(Fact("disk", str(progress.disk), progress.disk.is_low))
    if left := goal.time_left(progress):
        facts.append(Fact("left", left))
    return facts


def in_one_line(progress: CrawlProgress, goal: Goal) -> str:
    return "  ".join(f"{fact.name} {fact.value}" for fact in facts_of(progress, goal))


def _found(progress: CrawlProgress) -> str:
    refused = progress.refused()
    left_out = f"; skipped: {counted(refused)}" if any(refused.values()) else ""
    return f"{progress.total('discovered'):,} links{left_out}"


def _queues(progress: CrawlProgress) -> list[Fact]:
    facts = progress.urlserver
    if not facts:
        return []
    state = facts.get("state", "")
    about = "" if state == "online" else f"; URL server {state}"
    line = f"{facts.get('taken', 0):,} in use, {facts.get('queued', 0):,} URLs queued{about}"
    problems = [f"{each['address']}: {each['problem']}" for each in facts.get("spiders", ()) if each.get("problem")]
    return [Fact("hosts", line), *(Fact("spider", problem, is_bad=True) for problem in problems)]


def link_counts(links: Mapping[str, int]) -> str:
    """Links by state, in the words that people use for these states."""
    return counted({_STATE_NAMES.get(state, state): number for state, number in links.items()})


def counted(numbers: Mapping[str, int]) -> str:
    """For example "3 crawled, 1 failed"; zeros are left out."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "none"


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
