"""What `weft crawl` prints at the end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from weft.answers.link_outcomes import by_outcome, failures_of, refusals_of
from weft.cli.crawl_facts import counted, resting_sentence
from weft.cli.tables import amount

if TYPE_CHECKING:
    from weft.answers.crawl_summary import CrawlSummary

_MOST_LED = 10
"""Redirects to other hosts that are listed."""


def summary_lines(summary: CrawlSummary, home_flag: Path | None) -> list[str]:
    """`home_flag` is the value of --home, for the command that the last line suggests."""
    seconds = max(summary.seconds, 0.001)
    rate = f"{summary.pages / seconds:.1f} pages/s"
    found = amount(summary.discovered, "link")
    lines = [f"Crawl {summary.reason}: {amount(summary.pages, 'page')} in {seconds:.1f} s ({rate}), {found} found."]
    if summary.links is not None:
        lines.append(f"Links: {counted(by_outcome(summary.links, summary.statuses, summary.errors))}")
    if failures := failures_of(summary.errors):
        lines.append(f"Errors: {counted(failures)}")
    if summary.failed_chunks:
        lines.append(f"Not indexed: {amount(summary.failed_chunks, 'chunk')}; `weft retry` tries again.")
    if summary.unbuilt_chunks:
        chunks = amount(summary.unbuilt_chunks, "chunk")
        lines.append(f"Not in the index yet: {chunks} of fetched pages; the next `weft crawl` builds them first.")
    if summary.search_waits:
        words = amount(summary.search_waits, "linked page")
        lines.append(f"Search: the words of links to {words} are still missing; the next `weft crawl` adds them.")
    skipped = {**summary.refused, **refusals_of(summary.errors)}
    if any(skipped.values()):
        lines.append(f"Skipped: {counted(skipped)}")
    if summary.freshness is not None:
        lines.append(f"Freshness: {summary.freshness:.1f} s from fetch to answer (median)")
    if summary.was_full:
        lines.append(f"The disk was full, so pages are missing: {summary.disk}.")
    elif summary.disk.is_low:
        lines.append(f"The disk is almost full: {summary.disk}.")
    lines += _missed_lines(summary)
    lines += _led_to(summary)
    lines += [f"Seed {seed.url}: {seed.problem}" for seed in summary.seeds]
    if summary.more_seeds:
        lines.append(f"Not checked: {amount(summary.more_seeds, 'more seed')}; `weft why URL` explains each.")
    if summary.has_no_page:
        lines.append("None of the seeds gave a page.")
    option = f" --home {shlex.quote(str(home_flag))}" if home_flag else ""
    if summary.pages or not summary.has_no_page:
        lines.append(f"Next: `weft search WORDS{option}` finds pages, `weft top{option}` shows the most linked ones.")
    return lines


def _missed_lines(summary: CrawlSummary) -> list[str]:
    """What a later crawl may get."""
    lines = []
    if summary.missed:
        reasons = [f"{number:,} x {reason}" for reason, number in summary.missed.items()]
        why = ", ".join(reasons) if len(reasons) > 1 else next(iter(summary.missed))
        lines.append(f"{amount(sum(summary.missed.values()), 'page')} could not be had: {why}.")
    left = summary.left_behind
    lines += [f"Left for a later crawl: {resting_sentence(host)}." for host in left.hosts]
    more = left.links - sum(host.pending for host in left.hosts)
    if more:
        lines.append(f"Left for a later crawl: {amount(more, 'link')} of other hosts that rest.")
    return lines


def _led_to(summary: CrawlSummary) -> list[str]:
    told = list(summary.led_to.items())[:_MOST_LED]
    lines = [f"Scope: {seed} redirects to {host}, which is crawled too, without credentials." for seed, host in told]
    if more := len(summary.led_to) - len(told):
        lines.append(f"Scope: {amount(more, 'more redirect')} led to other hosts; `weft sites` lists them.")
    return lines
