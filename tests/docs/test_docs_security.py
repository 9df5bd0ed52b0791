"""docs/security.md names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
DOCUMENT = (PROJECT / "docs/security.md").read_text(encoding="utf-8")


def test_every_threat_names_a_test_that_exists() -> None:
    rows = [line for line in DOCUMENT.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert len(rows) > 30
    for row in rows:
        named = re.findall(r"`([a-z_]+/test_[a-z_]+\.py)`", row.split("|")[3])
        assert named, row
        assert [name for name in named if not (PROJECT / "tests" / name).is_file()] == [], row
