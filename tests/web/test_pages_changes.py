"""The page of changes: complete without scripts, and with them new changes on top, without anything that jumps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import complaints, opened, refused
from support.web_app import HUB, SCRIPT, RunningApp, running_app
from support.web_live import WrittenHome, written_home
from weft.answers import history
from weft.linkindex.changes import LINK_CHANGES, PAGE_CHANGES
from weft.web.change_words import CHANGE_WORDS

EVIL = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
TURNED = "\u202eturned\u2066"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[WrittenHome]:
    with written_home(tmp_path) as made:
        made.load(("https://a.com/", "First", [("https://b.com/", "first words")]))
        yield made


@pytest.fixture
def live(home: WrittenHome) -> Iterator[RunningApp]:
    with running_app(home.path) as app:
        yield app


def badges(text: str) -> set[str]:
    return set(re.findall(r'<span class="badge[^"]*">([^<]*)</span>', text))


def entries(text: str) -> list[str]:
    """Those of the list; not the form that scripts fill in."""
    return re.findall(r'<li class="change">(.*?)</li>', text.partition("<template")[0], re.DOTALL)


def addresses(entry: str) -> list[str]:
    return [unescape(found) for found in re.findall(r"<bdi>([^<]*)</bdi></a>", entry)]


def test_every_change_that_can_be_recorded_has_words() -> None:
    assert set(CHANGE_WORDS) == {*LINK_CHANGES.values(), *PAGE_CHANGES.values()}


def test_the_page_shows_what_the_api_lists(app: RunningApp) -> None:
    shown, listed = app.ask("/changes", limit=50).text, app.ask("/api/changes", limit=50).json["items"]
    found = [addresses(entry) for entry in entries(shown)]
    wanted = [[item[name] for name in ("source_url", "target_url", "moved_to") if item.get(name)] for item in listed]
    assert found == wanted
    assert badges(shown) == {CHANGE_WORDS[item["change"]].word for item in listed} | {"new link"}  # the form's


def test_words_of_the_web_are_text(app: RunningApp) -> None:
    shown = app.ask("/changes", limit=1000).text
    assert SCRIPT not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize(
    ("kind", "words"), [("links", {"new link", "lost link"}), ("pages", {"new page", "new title"})]
)
def test_a_kind_can_be_chosen(app: RunningApp, kind: str, words: set[str]) -> None:
    shown = app.ask("/changes", kind=kind, limit=1000).text
    found = set().union(*(badges(entry) for entry in entries(shown)))
    assert found <= {
        word.word for change, word in CHANGE_WORDS.items() if change.startswith("page_") == (kind == "pages")
    }
    assert found & words
    assert f'<option value="{kind}" selected>' in shown


def test_changes_of_a_page_or_a_domain_can_be_chosen(app: RunningApp) -> None:
    for of in (HUB, "hub.example"):
        shown = app.ask("/changes", of=of).text
        assert all(HUB in addresses(entry) for entry in entries(shown))
        assert entries(shown)
        assert f'name="of" value="{of}"' in shown


def test_the_pager_leads_through_all_of_them_with_the_same_filters(app: RunningApp) -> None:
    place, found = "/changes?kind=links&limit=30", 0
    while place:
        shown = app.ask(place).text
        found += len(entries(shown))
        onward = re.search(r'rel="next"[^>]* href="([^"]*)"', shown)
        place = unescape(onward[1]) if onward else ""
        assert not place or "kind=links" in place
    assert found == len(app.ask("/api/changes", kind="links", limit=1000).json["items"])


def test_what_is_shown_can_be_had_as_csv(app: RunningApp) -> None:
    shown = app.ask("/changes", kind="pages", of="s1.example").text
    (place,) = map(unescape, re.findall(r'href="(/api/changes[^"]*)" download', shown))
    answer = app.ask(place)
    assert answer.kind == "text/csv"
    assert answer.text.splitlines()[0].startswith("at,kind,change,source,target")


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"of": "nobody.example"}, "nobody.example is not known"),
        ({"of": "https://nobody.example/x"}, "is not known"),
        ({"of": "mailto:me@example.com"}, "mailto"),
        ({"since": "yesterday"}, "since yesterday: not a time"),
        ({"since": "2999-01-01"}, "There are no such changes."),
    ],
)
def test_a_filter_that_finds_nothing_is_explained_beside_it(
    app: RunningApp, asked: dict[str, Any], sentence: str
) -> None:
    answer = app.ask("/changes", **asked)
    assert answer.status == 200
    assert sentence in unescape(answer.text)
    assert all(f'value="{value}"' in answer.text for value in asked.values()), "what was typed can be mended"
    assert 'href="/changes">All changes' in answer.text


def test_an_answer_that_ends_early_says_so_and_leads_on(app: RunningApp, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = app.ask("/api/changes", kind="pages", limit=1000).json
    assert everything["cut_short"] is False
    monkeypatch.setattr(history, "MOST_LOOKED_AT", 1)
    first = app.ask("/changes", kind="pages", limit=1000)
    assert "There may be more" in first.text
    found, answer = list[object](), app.ask("/api/changes", kind="pages", limit=1000).json
    assert answer["cut_short"] is True
    while answer["next"]:
        found += answer["items"]
        answer = app.ask("/api/changes", kind="pages", limit=1000, cursor=answer["next"]).json
    assert found + answer["items"] == everything["items"]


def test_without_changes_it_says_when_there_will_be_some(tmp_path: Path) -> None:
    with written_home(tmp_path) as made, running_app(made.path) as app:
        assert "What a crawl finds appears here" in app.ask("/changes").text


def test_only_the_first_page_follows(app: RunningApp) -> None:
    first = app.ask("/changes", limit=5)
    (onward,) = map(unescape, re.findall(r'rel="next"[^>]* href="([^"]*)"', first.text))
    assert "changes.js" in first.text
    assert "data-mark" in first.text
    assert "changes.js" not in app.ask(onward).text
    assert "data-mark" not in app.ask(onward).text


def shown_words(page: Page) -> list[str]:
    return page.locator("#changes > li q").all_inner_texts()


def test_new_changes_are_put_on_top_as_text(browser: Browser, home: WrittenHome, live: RunningApp) -> None:
    with opened(browser) as page:
        seen = complaints(page)
        page.goto(f"{live.origin}/changes")
        expect(page.locator("#live")).to_have_text("live")
        page.mouse.move(1, 1)
        home.load((f"https://c.com/{EVIL}", EVIL, [("https://d.com/", EVIL + TURNED)]))
        page.get_by_text("https://d.com/").wait_for()
        assert EVIL + "turned" in shown_words(page)
        assert page.locator("#changes img, #changes script").count() == 0
        links = page.locator("#changes a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert all(link.startswith("/page?url=") for link in links)
        assert shown_words(page)[-2:] == ["First", "first words"] or shown_words(page)[-2:] == ["first words", "First"]
        page.reload()
        assert EVIL + "turned" in shown_words(page), "scripts show the same as the server"
        assert (seen, refused(page)) == ([], [])


def test_an_address_that_is_no_web_page_leads_nowhere_else(
    browser: Browser, home: WrittenHome, live: RunningApp
) -> None:
    """Whatever the stream says, links lead to our own pages."""
    item = {"at": "2999-01-01T00:00:00Z", "kind": "links", "change": "?", "source": "x", "target": "y", "anchor": ""}
    item |= {"source_url": "javascript:alert(1)", "target_url": "//evil.example<img src=x onerror=alert(1)>"}
    told = f"retry: 60000\nevent: changes\ndata: {json.dumps([item])}\n\n"
    with opened(browser) as page:
        page.goto(f"{live.origin}/changes")
        page.mouse.move(1, 1)
        page.route("**/api/events*", lambda route: route.fulfill(body=told, content_type="text/event-stream"))
        page.reload()
        entry = page.locator("#changes > li").first
        expect(entry).to_contain_text("javascript:alert(1)")
        links = entry.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert [unquote_plus(link) for link in links] == [
            f"/page?url={item[name]}" for name in ("source_url", "target_url")
        ]
        assert entry.locator("img").count() == 0


def test_nothing_jumps_under_somebody_who_has_scrolled(browser: Browser, home: WrittenHome, live: RunningApp) -> None:
    home.load(*((f"https://old{n}.com/", f"old {n}", []) for n in range(30)))
    with opened(browser) as page:
        page.goto(f"{live.origin}/changes?limit=25")
        expect(page.locator("#changes > li")).to_have_count(25)
        expect(page.locator("#live")).to_have_text("live")
        page.evaluate("scrollTo(0, 600)")
        before = page.locator("#changes > li").nth(12).bounding_box()
        home.load(*((f"https://new{n}.com/", f"new {n}", []) for n in range(12)))
        button = page.locator("#show-new")
        expect(button).to_have_text("12 new changes – show")
        assert page.locator("#changes > li").nth(12).bounding_box() == before
        button.click()
        expect(button).to_be_hidden()
        expect(page.locator("#changes > li").first).to_contain_text("https://new")
        assert page.locator("#changes > li").count() == 25, "the list does not grow without end"
        assert page.evaluate("scrollY") == 0


def test_what_the_page_leaves_out_does_not_arrive_either(browser: Browser, home: WrittenHome, live: RunningApp) -> None:
    with opened(browser) as page:
        page.goto(f"{live.origin}/changes?of=b.com&kind=links")
        page.mouse.move(1, 1)
        home.load(("https://c.com/", "C", [("https://b.com/", "wanted"), ("https://e.com/", "unwanted")]))
        page.get_by_text("wanted", exact=True).wait_for()
        assert shown_words(page) == ["wanted", "first words"]


def test_a_page_opened_before_the_first_change_fills_up(browser: Browser, tmp_path: Path) -> None:
    with written_home(tmp_path) as made, running_app(made.path) as app, opened(browser) as page:
        page.goto(f"{app.origin}/changes")
        made.load(("https://a.com/", "A", []))
        page.get_by_text("https://a.com/").wait_for()
        expect(page.locator("#nothing")).to_have_count(0)


def test_without_scripts_it_is_complete(browser: Browser, app: RunningApp) -> None:
    with opened(browser, java_script_enabled=False) as page:
        page.goto(f"{app.origin}/changes")
        assert page.locator("#changes > li").count() == 20
        assert page.locator("#show-new, #live").all_inner_texts() == ["", ""]
        page.get_by_label("Show").select_option("pages")
        page.get_by_role("button", name="Show").click()
        assert "kind=pages" in page.url
        page.get_by_role("link", name="Next →").click()
        assert page.locator("#changes > li").count()
