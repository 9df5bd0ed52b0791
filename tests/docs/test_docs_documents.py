"""docs/documents.md has a table of differences for each document, and names nothing that weft does not have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from weft.cli.main import COMMANDS
from weft.config.settings import KEYS

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "documents.md").read_text(encoding="utf-8")
OURS, DIFFERENCES = PAGE.split("## Where weft differs, and why")
SOURCES = [path for kind in ("py", "sql") for path in (PROJECT / "src" / "weft").rglob(f"*.{kind}")]
WORDS = frozenset(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)))
EXAMPLES = {"a.co.uk", "b.co.uk", "%7Euser", "~user", "weft.toml", "HELLO 1 <token>", "/page1.html"}
"""What stands in backticks and is no name of ours."""


def rows_of(text: str) -> list[list[str]]:
    """The cells of every row of every table, without the heads."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    heads = {number - 1 for number, row in enumerate(rows) if set(row[0]) == {"-"}}
    return [row for number, row in enumerate(rows) if number not in heads and set(row[0]) != {"-"}]


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def names_in(quote: str) -> set[str]:
    """The parts of a quote that must be names in the code: words, without what stands for something else."""
    bare = re.sub(r"<[^>]*>", " ", quote)
    return {word for word in re.findall(r"[A-Za-z_]\w{2,}", bare) if not bare.startswith("weft ")}


WEFTS = [cell for row in rows_of(OURS)[5:] + rows_of(DIFFERENCES) for cell in row[1:]]
QUOTES = sorted({quote for cell in WEFTS for quote in quoted(cell)} - EXAMPLES)


def test_each_document_has_its_differences() -> None:
    documents = [row[0] for row in rows_of(OURS)[:5]]
    assert [title.lower() for title in re.findall(r"^### From (?:the )?(.*)$", DIFFERENCES, re.MULTILINE)] == [
        "observers", "tables", "url server", "dispatcher", "mgmt"
    ]  # fmt: skip
    assert [name.lower() for name in documents] == ["observers", "tables", "url server", "dispatcher", "mgmt"]


@pytest.mark.parametrize("row", rows_of(DIFFERENCES), ids=lambda row: row[0][:60])
def test_each_difference_has_its_reason(row: list[str]) -> None:
    assert len(row) == 3
    assert all(row)


def test_no_sentence_is_listed_twice() -> None:
    sentences = [row[0] for row in rows_of(DIFFERENCES)]
    assert len(sentences) > 60
    assert sorted(set(sentences)) == sorted(sentences)


@pytest.mark.parametrize("quote", QUOTES)
def test_what_is_named_exists(quote: str) -> None:
    setting = re.fullmatch(r"\[(\w+)\](?: (\w+))?", quote)
    if setting:
        section, key = setting.groups()
        assert f"{section}.{key}" in KEYS if key else any(name.startswith(f"{section}.") for name in KEYS)
    elif quote.startswith("weft "):
        assert quote.split()[1] in COMMANDS
    else:
        files = re.findall(r"\w+\.py", quote)
        assert {path.name for path in SOURCES}.issuperset(files)
        assert names_in(quote) - {"py"} <= WORDS


@pytest.mark.parametrize("found", re.findall(r"`\[(\w+)\] (\w+)` \(([\d,]+)\)", PAGE), ids=".".join)
def test_a_printed_default_is_the_default(found: tuple[str, str, str]) -> None:
    section, key, value = found
    assert KEYS[f"{section}.{key}"].default == int(value.replace(",", ""))
