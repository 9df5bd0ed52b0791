"""The web app in a real browser: every page, on a phone and on a desk, by mouse, by keyboard, and without scripts."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from support.browser import barriers, complaints, opened, overflow, refused
from support.web_app import HUB, RunningApp
from weft.web.pages.catalogue import PAGES

PHONE, DESK = 390, 1200
GIVEN = {"url": f"url={HUB}", "q": "q=weft"}


def addresses() -> list[str]:
    """All pages, with something to show in each."""
    found = ["/login", "/nothing-here", "/page?url=https://not.known.example/"]
    for page in PAGES:
        asked = page.twin.params.__struct_fields__
        path = page.path.replace("{domain}", "hub.example")
        params = "&".join(GIVEN[name] for name in asked if name in GIVEN and f"{{{name}}}" not in page.path)
        found.append(f"{path}?{params}" if params else path)
    return found


@pytest.mark.parametrize("address", addresses())
def test_a_page_is_whole_and_open_to_everybody(browser: Browser, axe: str, app: RunningApp, address: str) -> None:
    for width, scheme in ((PHONE, "dark"), (DESK, "light")):
        with opened(browser, width, color_scheme=scheme) as page:
            seen = complaints(page)
            answer = page.goto(app.origin + address)
            page.wait_for_load_state("load")
            assert answer.status in (200, 404)
            assert page.locator("main").inner_text().strip()
            assert overflow(page) <= 0
            assert barriers(page, axe) == []
            assert refused(page) == []
            # That a page is not there is said to the console, too.
            assert [line for line in seen if "404" not in line] == []


def test_from_search_to_a_page_to_who_references_it_to_their_domain(browser: Browser, app: RunningApp) -> None:
    with opened(browser) as page:
        seen = complaints(page)
        page.goto(app.origin)
        page.get_by_role("searchbox").fill("all threads meet")
        page.get_by_role("button", name="Find").click()
        page.get_by_role("link", name="The hub").click()
        assert "The hub" in page.locator("h1").inner_text()
        inlink = page.locator("main a", has_text="https://s0.example/0").first
        inlink.click()
        page.locator("main a", has_text="s0.example").first.click()
        page.goto(f"{app.origin}/domain/s0.example")
        assert "s0.example" in page.locator("h1").inner_text()
        assert seen == []


def test_the_same_by_keyboard_alone(browser: Browser, app: RunningApp) -> None:
    with opened(browser) as page:
        page.goto(f"{app.origin}/top")
        page.keyboard.press("/")
        page.keyboard.type("all threads meet")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search?*")
        page.keyboard.press("Escape")
        page.locator("main").focus()
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.textContent").strip() == "The hub"
        page.keyboard.press("Enter")
        page.wait_for_url("**/page?*")
        assert "The hub" in page.locator("h1").inner_text()


def test_the_first_key_leads_past_the_bar(browser: Browser, app: RunningApp) -> None:
    with opened(browser) as page:
        page.goto(f"{app.origin}/top")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("address", [one for one in addresses() if not one.startswith(("/nothing", "/go"))])
def test_without_scripts_a_page_says_the_same(browser: Browser, app: RunningApp, address: str) -> None:
    def words_of(page: Page) -> str:
        page.goto(app.origin + address)
        return str(page.locator("main").inner_text())

    with opened(browser, java_script_enabled=False) as plain, opened(browser) as scripted:
        assert headings(words_of(plain)) == headings(words_of(scripted))
        assert plain.locator("main h1, main h2").count() == scripted.locator("main h1, main h2").count()


def headings(words: str) -> str:
    """The first line: figures and times go on meanwhile."""
    return words.strip().splitlines()[0]


HOSTILE = (
    "<script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    '"><svg onload=window.hacked=1>',
    "javascript:window.hacked=1",
    "\u202egnp.exe\u2066 \u200f",
    "{{ 7*7 }} {% raw %} ${7*7}",
    "x" * 10_000,
)


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_what_pages_say_does_nothing(browser: Browser, hostile_app: RunningApp, width: int) -> None:
    with opened(browser, width) as page:
        seen = complaints(page)
        for address in hostile_addresses():
            page.goto(hostile_app.origin + address)
            assert page.evaluate("window.hacked") is None, address
            assert refused(page) == [], address
            assert overflow(page) <= 0, address
            ways_out = page.evaluate("[...document.links].map((link) => link.protocol)")
            assert set(ways_out) <= {"http:", "https:"}, address
            assert not set("\u202e\u2066\u200f") & set(page.locator("body").inner_text()), address
        # That there is nothing to search for in some of them is said to the console, too.
        assert [line for line in seen if "400" not in line] == []


def hostile_addresses() -> list[str]:
    from urllib.parse import quote

    pages = [f"/page?url=https://evil{n}.example/" for n in range(len(HOSTILE))]
    words = [f"/search?q={quote(text[:500])}" for text in HOSTILE]
    return ["/", "/top", "/domains", "/changes", "/crawl", f"/page?url={HUB}", f"/links?url={HUB}", *pages, *words]


@pytest.fixture(scope="module")
def hostile_app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Titles, texts, anchors and addresses that want to be more than words."""
    import json

    from support.web_app import running_app
    from support.weft_command import weft

    place = tmp_path_factory.mktemp("hostile")
    links = [{"url": f"https://evil{n}.example/", "text": text} for n, text in enumerate(HOSTILE)]
    links += [{"url": text, "text": text} for text in HOSTILE]
    links += [{"url": f"https://long.example/{'a' * 1900}", "text": "long"}]
    lines = [{"url": HUB, "title": HOSTILE[0], "text": " ".join(HOSTILE), "links": links}]
    lines += [
        {
            "url": f"https://evil{n}.example/",
            "title": text,
            "text": f"{text} weft",
            "links": [{"url": HUB, "text": text}],
        }
        for n, text in enumerate(HOSTILE)
    ]
    file = place / "pages.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = weft("import", str(file), "--home", str(place / "home"), "--incremental", cwd=place)
    assert done.returncode == 0, done.stderr
    with running_app(place / "home") as running:
        yield running
