"""What a page says, as it was indexed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from support.built_world import World
from weft.errors import NotKnown

PAGE = """<html lang=de><title>Ein Titel</title><meta name=description content="Worum es geht">
<h1>Oben</h1><p>Viele Worte</p><h2>Unten</h2><a href=/b>b</a>"""


def test_a_loaded_page_says_what_was_indexed(tmp_path: Path) -> None:
    with closing(World(tmp_path)) as world:
        world.crawl("https://a.com/", PAGE)
        answer = world.answers.text("a.com")
    assert (answer.uri, answer.url, answer.title, answer.language) == ("com.a", "https://a.com/", "Ein Titel", "de")
    assert (answer.description, answer.headings) == ("Worum es geht", ["Oben", "Unten"])
    assert "Viele Worte" in answer.text
    assert answer.changed is not None
    assert not answer.noindex


def test_a_page_that_asks_not_to_be_indexed_has_no_text(tmp_path: Path) -> None:
    with closing(World(tmp_path)) as world:
        world.crawl("https://a.com/", PAGE + "<meta name=robots content=noindex>")
        answer = world.answers.text("a.com")
    assert (answer.title, answer.text, answer.headings, answer.noindex) == ("", "", [], True)


def test_of_pages_without_content_no_text_is_known(tmp_path: Path) -> None:
    with closing(World(tmp_path)) as world:
        world.crawl("https://a.com/", PAGE)
        world.crawl("https://a.com/gone", status=404)
        for url in ("https://a.com/b", "https://a.com/gone", "https://nowhere.com/"):
            with pytest.raises(NotKnown, match=f"{url} is not loaded"):
                world.answers.text(url)
