"""What `weft crawl` prints at the end."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.crawl_facts import counted, link_counts
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
        lines.append(f"Links: {link_counts(summary.links)}")
    if summary.errors:
        lines.append(f"Errors: {counted(summary.errors)}")
    if summary.failed_chunks:
        lines.append(f"Not indexed: {amount(summary.failed_chunks, 'chunk')}; `weft retry` tries again.")
    if any(summary.refused.values()):
        lines.append(f"Skipped: {counted(summary.refused)}")
    if summary.freshness is not None:
        lines.append(f"Freshness: {summary.freshness:.1f} s from fetch to answer (median)")
    lines += _led_to(summary)
    lines += [f"Seed {seed.url}: {seed.problem}" for seed in summary.seeds]
    if summary.more_seeds:
        lines.append(f"Not checked: {amount(summary.more_seeds, 'more seed')}; `weft why URL` explains each.")
    option = f" --home {shlex.quote(str(home_flag))}" if home_flag else ""
    lines.append(f"Next: `weft top{option}` shows the most linked pages.")
    return lines


def _led_to(summary: CrawlSummary) -> list[str]:
    told = list(summary.led_to.items())[:_MOST_LED]
    lines = [f"Scope: {seed} redirects to {host}, which is crawled too, without credentials." for seed, host in told]
    if more := len(summary.led_to) - len(told):
        lines.append(f"Scope: {amount(more, 'more redirect')} led to other hosts; `weft sites` lists them.")
    return lines
