"""Links between the documents lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links_of(text: str) -> list[str]:
    """The targets within the project: paths, with or without an anchor."""
    return [target for target in _LINK.findall(_CODE.sub("", text)) if "://" not in target]


def anchors_of(text: str) -> set[str]:
    """The anchors that a Markdown page gets from its headings."""
    headings = _HEADING.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def problem(page: Path, target: str) -> str | None:
    path, _, anchor = target.partition("#")
    wanted = page.parent / path if path else page
    if not wanted.exists():
        return f"{target}: no such file"
    if anchor and anchor not in anchors_of(wanted.read_text(encoding="utf-8")):
        return f"{target}: no such heading"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    found = [problem(page, target) for target in links_of(page.read_text(encoding="utf-8"))]
    assert list(filter(None, found)) == []


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [PROJECT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [page.parent / target.partition("#")[0] for target in links_of(page.read_text(encoding="utf-8"))]
    assert [str(page.relative_to(PROJECT)) for page in PAGES if page not in reached] == []


def test_a_wrong_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One `two` three\n[a](page.md#one-two-three) [b](no.md) [c](#four) `[d](code.md)` [e](https://x/)"
    )
    found = [problem(page, target) for target in links_of(page.read_text())]
    assert found == [None, "no.md: no such file", "#four: no such heading"]
