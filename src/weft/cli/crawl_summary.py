"""The end of a crawl, in words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from weft.cli.crawl_facts import counted

if TYPE_CHECKING:
    from weft.answers.crawl_summary import CrawlSummary


def summary_lines(summary: CrawlSummary, home: Path) -> list[str]:
    seconds = max(summary.seconds, 0.001)
    rate = f"{summary.pages / seconds:.1f} pages/s"
    lines = [f"{summary.reason}: {summary.pages} pages in {seconds:.1f} s ({rate}), {summary.discovered} links found"]
    if summary.links is not None:
        lines.append(f"links: {counted(summary.links)}")
    if summary.errors:
        lines.append(f"errors: {counted(summary.errors)}")
    if summary.failed_chunks:
        lines.append(
            f"not in the index: {summary.failed_chunks} chunks that could not be built; `weft retry` offers them again"
        )
    if any(summary.refused.values()):
        lines.append(f"left out: {counted(summary.refused)}")
    if summary.freshness is not None:
        lines.append(
            f"fresh: {summary.freshness:.1f} s from the end of a fetch until its page is in the answers (median)"
        )
    lines += [f"seed {seed.url}: {seed.problem}" for seed in summary.seeds]
    if summary.more_seeds:
        lines.append(f"{summary.more_seeds} more seeds; `weft why URL` tells about each")
    lines.append(f"ask it: weft top --home {home}")
    return lines
