"""The pages about one page where nothing was ever crawled: what was imported has no control plane and no archive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.web_pages import Browser, web_over
from support.weft_command import weft

PAGES = [
    {"url": "https://a.example/", "title": "A", "links": [{"url": "https://b.example/x", "text": ""}]},
    {"url": "https://lone.example/", "fetched": "2026-01-31T12:00:00Z"},
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    place: Path = tmp_path_factory.mktemp("imported")
    lines = "".join(json.dumps(page) + "\n" for page in PAGES)
    done = weft("import", "-", "--home", "home", cwd=place, stdin=lines)
    assert done.returncode == 0, done.stderr
    with web_over(place / "home") as visitors:
        yield visitors.nobody


def test_an_imported_page_is_shown_without_reasons_for_fetching_it(browser: Browser) -> None:
    found = browser.get("/page?url=a.example")
    assert found.status == 200
    assert "https://b.example/x no words" in found.words
    assert "No page that weft has read links here yet." in found.words


def test_a_page_that_is_only_referenced_says_that_it_was_not_read(browser: Browser) -> None:
    found = browser.get("/page?url=https://b.example/x")
    assert found.status == 200
    assert "not fetched yet" in found.words
    assert "Its links are not known: weft has not read it." in found.words
    assert browser.get("/links?url=https://b.example/x").words.count("no words") == 1


def test_what_was_not_read_has_no_text_links_or_archive_and_says_so(browser: Browser) -> None:
    for path, words in (
        ("/text?", "is not loaded, so its text is not known"),
        ("/links?direction=out&", "was never loaded, so its links are not known"),
        ("/capture?", "no response is archived"),
    ):
        found = browser.get(f"{path}url=https://b.example/x")
        assert found.status == 404
        assert words in found.words


def test_a_page_without_words_or_links_is_no_empty_frame(browser: Browser) -> None:
    assert "This page has no text." in browser.get("/text?url=lone.example").words
    assert "No page that weft has read links here yet." in browser.get("/links?url=lone.example").words
    assert "This page has no links." in browser.get("/links?url=lone.example&direction=out").words
    assert "No page that weft has read links here yet." in browser.get("/anchors?url=lone.example").words


def test_a_domain_without_neighbours_has_no_graph(browser: Browser) -> None:
    found = browser.get("/domain/lone.example")
    assert found.status == 200
    assert "Neighbours" not in found.words
    assert "1 page known" in found.words
