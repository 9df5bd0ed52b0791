"""What people want to know about a running crawl: the same facts for a terminal and for a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from weft.answers.link_outcomes import by_outcome, failures_of, refusals_of
from weft.cli.tables import amount
from weft.model.wait_reason import wait_sentence

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.mgmt.values import Counts, RestingHost


@dataclass(frozen=True, slots=True)
class Goal:
    """When a crawl ends by itself; without either limit, when everything in scope is fetched."""

    pages: int | None = None
    seconds: float | None = None
    is_endless: bool = False
    """Not even then."""

    def is_over_at(self, seconds: float) -> bool:
        """Whether the limit in time is reached."""
        return self.seconds is not None and seconds >= self.seconds

    def share_done(self, progress: CrawlProgress) -> float | None:
        shares = []
        if self.pages is not None:
            shares.append(progress.total("pages") / self.pages)
        if self.seconds is not None:
            shares.append(progress.seconds / self.seconds)
        return min(1.0, max(shares)) if shares else None

    def work_left(self, progress: CrawlProgress) -> str:
        """How much is to be done, and how long that takes at the present rate; limits in time are another matter."""
        links = progress.waiting + progress.retrying
        if not links:
            return ""
        spans = [links / progress.result_rate] if progress.result_rate > 0 else []
        if self.pages is not None and progress.rate > 0:
            spans.append(max(0, self.pages - progress.total("pages")) / progress.rate)
        known = f"{amount(links, 'link')} known now"
        return f"about {duration(min(spans))} for the {known}" if spans else f"{known}, none fetched lately"

    def stops_in(self, progress: CrawlProgress) -> str:
        if self.seconds is None:
            return ""
        seconds = self.seconds - progress.seconds
        return f"in {duration(seconds)} (--seconds)" if seconds > 0 else "now (--seconds), after the running fetches"


class Fact(NamedTuple):
    name: str
    value: str
    is_bad: bool = False


def facts_of(progress: CrawlProgress, goal: Goal) -> list[Fact]:
    facts = [_standing_by(progress) if progress.stands_by else _pages(progress)]
    counts = progress.counts
    if counts is not None:
        facts.append(Fact("links", counted(by_outcome(counts.links, counts.statuses, counts.errors))))
        if not progress.stands_by:
            facts.append(Fact("found", _found(progress, counts)))
        facts += [*_queues(progress), *_waits(progress)]
        facts.append(Fact("chunks", counted(counts.chunks)))
        if failures := failures_of(counts.errors):
            facts.append(Fact("errors", counted(failures)))
    fresh = progress.index.get("freshness") or {}
    if fresh.get("p50") is not None:
        facts.append(Fact("fresh", f"{fresh['p50']:.1f} s from fetch to answer, p99 {fresh['p99']:.1f} s"))
    facts.append(Fact("disk", str(progress.disk), progress.disk.is_low))
    told = {"left": "" if progress.stands_by else goal.work_left(progress), "stops": goal.stops_in(progress)}
    return facts + [Fact(name, text) for name, text in told.items() if text]


def in_one_line(progress: CrawlProgress, goal: Goal) -> str:
    return "  ".join(f"{fact.name} {fact.value}" for fact in facts_of(progress, goal))


def _pages(progress: CrawlProgress) -> Fact:
    pages, seconds = progress.total("pages"), max(progress.seconds, 0.001)
    rates = f"{progress.rate:.1f}/s now, {pages / seconds:.1f}/s on average"
    return Fact("pages", f"{pages:,} in {duration(seconds)}, {rates}")


def _standing_by(progress: CrawlProgress) -> Fact:
    return Fact("index", f"stands by while {progress.index.get('owner') or 'another one'} builds it")


def _found(progress: CrawlProgress, counts: Counts) -> str:
    refused = {**progress.refused(), **refusals_of(counts.errors)}
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


def _waits(progress: CrawlProgress) -> list[Fact]:
    """Hosts that asked for patience or failed, and pages that they refused."""
    facts = [Fact("waits", resting_sentence(host)) for host in progress.resting.hosts]
    if progress.retrying:
        facts.append(Fact("again", f"{progress.retrying:,} refused for haste, fetched again soon"))
    return facts


def resting_sentence(host: RestingHost) -> str:
    why = wait_sentence(host.reason, duration)
    links = f"with {amount(host.pending, 'link')} waiting"
    return f"{host.web_host} rests for {duration(host.wait / 1000)}, {links}{f', because {why}' if why else ''}"


def counted(numbers: Mapping[str, int]) -> str:
    """For example "3 crawled, 1 failed"; zeros are left out."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number) or "none"


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
