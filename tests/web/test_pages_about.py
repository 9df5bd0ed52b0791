"""The pages about one domain and one page, over a home that was crawled: facts, twins, and words that mean harm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from support.web_pages import HOSTILE, HUB, SCRIPT, Answered, Browser, Visitors, crawled_home, web_over

ABOUT_A_PAGE = ("/page", "/links", "/anchors", "/text", "/capture")
BIDI_CONTROLS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")


@pytest.fixture(scope="module")
def visitors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitors]:
    home: Path = crawled_home(tmp_path_factory.mktemp("web") / "home")
    with web_over(home) as found:
        yield found


@pytest.fixture
def browser(visitors: Visitors) -> Browser:
    return visitors.nobody


def about(path: str, url: str = HUB, more: str = "") -> str:
    return f"{path}?url={quote(url, safe='')}{more}"


def assert_inert(answered: Answered) -> None:
    """Only our own script, nothing inline, every way out a web address, nothing that turns text around."""
    for tag, attributes in answered.tags:
        if tag == "script":
            assert attributes["src"].startswith("/static/")
        assert tag not in ("iframe", "object", "embed", "base", "img")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("href", "src", "action"):
            assert attributes.get(name, "/").startswith(("/", "#", "http://", "https://"))
    assert not BIDI_CONTROLS & set(answered.text)


def test_a_domain_shows_its_figures_pages_and_neighbours(browser: Browser) -> None:
    found = browser.get("/domain/hub.example")
    assert found.status == 200
    assert "1 page known 100 % crawled: 1 page 31 references to its pages" in found.words
    links = {attributes.get("href") for tag, attributes in found.tags if tag == "a"}
    assert {"/top?domain=hub.example", "/domain/site0.example", "/page?url=https%3A%2F%2Fhub.example%2F"} <= links
    assert "1 page, all that weft knows. page 1 Latest changes" in found.words


def test_the_graph_of_neighbours_says_in_words_what_it_draws(browser: Browser) -> None:
    found = browser.get("/domain/hub.example")
    drawing = next(attributes for tag, attributes in found.tags if attributes.get("class") == "chart graph")
    assert drawing["role"] == "group"
    assert drawing["aria-labelledby"] == "graph-title"
    assert "hub.example in the middle; on the left 10 domains that reference it" in found.words
    assert sum(attributes.get("class") == "strand" for _, attributes in found.tags) == 20


def test_a_domain_has_one_address(browser: Browser) -> None:
    found = browser.get("/domain/WWW.hub.example?limit=3")
    assert (found.status, found.headers["location"]) == (303, "/domain/hub.example?limit=3")
    few = browser.get("/domain/hub.example?limit=3")
    assert sum(attributes.get("class") == "strand" for _, attributes in few.tags) == 6


def test_a_page_shows_what_is_known_of_it(browser: Browser) -> None:
    found = browser.get(about("/page"))
    assert found.status == 200
    for words in (
        "The hub page https://hub.example/",
        "31 references 30 links on it",
        "First heading All threads",
        "Type text/html",
        "Status 200",
        "https://site0.example/ the hub",
        "https://site0.example/ site 0",
        "30 the hub",
        "31 now; last change",
        "Site none of your sites covers it",
    ):
        assert words in found.words


def test_references_over_time_are_drawn_and_listed(browser: Browser) -> None:
    found = browser.get(about("/page"))
    drawing = next(attributes for _, attributes in found.tags if attributes.get("class") == "chart series")
    assert drawing["role"] == "img"
    assert drawing["aria-label"].startswith("References to this page over time")
    series = browser.get(about("/api/history")).json()
    assert series["references"] == series["points"][-1][1] == 31


def test_links_are_listed_both_ways_and_page_by_page(browser: Browser) -> None:
    first = browser.get(about("/links", HUB, "&limit=20"))
    assert "31 links" in first.words
    following = next(attributes["href"] for _, attributes in first.tags if attributes.get("rel") == "next")
    second = browser.get(following)
    assert second.status == 200
    sites = [words for words in (first.words + second.words).split() if words.startswith("https://site")]
    assert len(sites) == len(set(sites)) == 30
    assert "30 links" in browser.get(about("/links", HUB, "&direction=out")).words


def test_the_kind_of_a_link_is_shown(browser: Browser) -> None:
    assert "bad nofollow" in browser.get(about("/links", HOSTILE)).words


def test_links_can_be_saved_as_a_table(browser: Browser) -> None:
    page = browser.get(about("/links"))
    address = next(found["href"] for _, found in page.tags if "format=csv" in found.get("href", ""))
    table = browser.get(address)
    assert table.headers["content-type"].startswith("text/csv")
    assert len(table.text.splitlines()) == 32


def test_words_of_links_the_most_frequent_first(browser: Browser) -> None:
    found = browser.get(about("/anchors"))
    assert "2 different texts in 31 references" in found.words
    assert "30 the hub 1 <script>" in found.words


def test_more_words_than_are_shown_are_counted(browser: Browser) -> None:
    found = browser.get(about("/anchors", HUB, "&limit=1"))
    assert "1 more texts. Show up to 1,000" in found.words


def test_the_text_of_a_page_is_its_text(browser: Browser) -> None:
    found = browser.get(about("/text"))
    assert "Language en Headings All threads Text All threads They meet here." in found.words
    assert any(tag == "section" and attributes.get("lang") == "en" for tag, attributes in found.tags)


def test_the_archived_response_is_shown_as_it_was_sent(browser: Browser) -> None:
    found = browser.get(about("/capture"))
    assert "content-type text/html; charset=utf-8" in found.words
    assert "<html lang=en><title>The hub</title><h1>All threads</h1>" in found.words


@pytest.mark.parametrize("path", ABOUT_A_PAGE)
@pytest.mark.parametrize("url", [HUB, HOSTILE])
def test_what_pages_say_cannot_do_anything(browser: Browser, path: str, url: str) -> None:
    found = browser.get(about(path, url))
    assert found.status == 200
    assert_inert(found)


def test_hostile_words_are_there_as_words(browser: Browser) -> None:
    for path in ("/page", "/text"):
        assert SCRIPT in browser.get(about(path, HOSTILE)).words
    assert "<script>x()</script>" in browser.get(about("/capture", HOSTILE)).words
    assert_inert(browser.get("/domain/bad.example"))


def test_very_long_words_are_cut_where_they_are_a_heading_or_in_a_table(browser: Browser) -> None:
    assert "w" * 301 not in browser.get(about("/page", HOSTILE)).text
    assert "w" * 301 not in browser.get(about("/links")).text
    assert "w" * 5_000 in browser.get(about("/text", HOSTILE)).text


@pytest.mark.parametrize("address", ["/domain/hub.example", *(about(path) for path in ABOUT_A_PAGE)])
def test_every_page_names_its_twin_and_the_twin_answers(browser: Browser, address: str) -> None:
    twin = browser.get(address).twin
    assert twin.startswith("/api/")
    answered = browser.get(twin, "application/json")
    assert answered.status == 200
    assert answered.headers["content-type"] == "application/json"
    assert "hub.example" in (answered.json().get("url") or answered.json()["domain"])


@pytest.mark.parametrize(
    "address", ["/domain/nowhere.example", *(about(path, "https://no.example/") for path in ABOUT_A_PAGE)]
)
def test_what_is_not_known_is_told_in_a_sentence(browser: Browser, address: str) -> None:
    found = browser.get(address)
    assert found.status == 404
    assert found.headers["content-type"].startswith("text/html")
    assert "example" in found.words.split("Not known", 2)[2]
    problem = browser.get(f"/api/{address[1:].replace('domain/', 'domains/')}", "application/json")
    assert (problem.status, problem.headers["content-type"]) == (404, "application/problem+json")


def test_a_program_that_asks_a_page_for_what_is_not_known_gets_a_problem(browser: Browser) -> None:
    found = browser.get(about("/page", "https://no.example/"), "application/json")
    assert (found.status, found.json()["status"]) == (404, 404)


def test_who_may_change_something_can_add_a_page_that_is_not_known(visitors: Visitors) -> None:
    address = about("/page", "https://no.example/<x>")
    fields = {found["name"]: found for tag, found in visitors.logged_in.get(address).tags if tag == "input"}
    assert fields["url"]["value"] == "https://no.example/<x>"
    assert fields["csrf"]["value"]
    assert "Log in to add it here" in visitors.nobody.get(address).words
    fields = {
        found["name"]: found for tag, found in visitors.logged_in.get("/domain/no.example").tags if tag == "input"
    }
    assert fields["url"]["value"] == "https://no.example/"


def test_a_page_whose_text_is_not_known_leads_to_what_is(browser: Browser) -> None:
    found = browser.get(about("/text", "https://no.example/"))
    assert any(attributes.get("href") == about("/page", "https://no.example/") for _, attributes in found.tags)


@pytest.mark.parametrize("url", ["ftp://a.com/", "javascript:alert(1)", "https://[", "w" * 16_001])
def test_what_is_no_web_address_is_refused_in_a_sentence(browser: Browser, url: str) -> None:
    for path in ABOUT_A_PAGE:
        found = browser.get(about(path, url))
        assert found.status == 400
        assert_inert(found)
