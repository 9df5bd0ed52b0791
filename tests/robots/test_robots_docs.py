"""docs/robots.md: its tables say what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from weft.config.settings import DEFAULTS
from weft.robots.file import parse
from weft.robots.lines import LIMIT
from weft.robots.policy import FIRST_RETRY, LONGEST, SHORTEST

PAGE = (Path(__file__).parents[2] / "docs" / "robots.md").read_text(encoding="utf-8")


def rows_under(header: str) -> list[list[str]]:
    """The cells, without backticks, of the one table with this header."""
    lines = PAGE.splitlines()
    rows = []
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


@pytest.mark.parametrize(("path", "target", "match"), rows_under("| rule | URL | match |"))
def test_rules_match_as_printed(path: str, target: str, match: str) -> None:
    rules = parse(f"User-agent: *\nDisallow: {path}\n".encode()).rules_for("weft")
    assert rules.decide(target).allowed == {"yes": False, "no": True}[match]


def test_times_and_sizes_are_as_printed() -> None:
    assert f"first {LIMIT // 1024} KiB" in PAGE
    assert DEFAULTS.limits.robots_bytes == LIMIT
    first, _, last = (row[2] for row in rows_under("| status after redirects | meaning | fetched again after |"))
    assert first.startswith(f"{LONGEST // 3_600_000} hours")
    assert f"at least {SHORTEST // 3_600_000} hour" in first
    assert last.startswith(f"{FIRST_RETRY // 60_000} minutes")
