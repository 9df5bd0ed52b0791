"""What the document of the API says may be asked is answered, and what is beyond that is refused; also by its pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from support.web_app import HUB, RunningApp, running_app
from weft.search.query_language import LONGEST_QUERY
from weft.web.api import ENDPOINTS, SEARCH
from weft.web.endpoint import Endpoint, bounds_of
from weft.web.pages.catalogue import PAGES

GIVEN = {"url": HUB, "domain": "hub.example", "q": "weft"}
BEGINNINGS = {"url": HUB, "of": HUB, "domain": "hub.example?", "q": "weft "}
"""Of long values that mean something."""
NOT_ANY_TEXT = {"cursor", "since"}
"""The app's own words, and times."""
BOUNDS = [
    pytest.param(each, name, meta.le or "", meta.max_length or 0, id=f"{each.path} {name}")
    for each in ENDPOINTS
    for name, meta in bounds_of(each.params)
    if name not in NOT_ANY_TEXT and (meta.le or meta.max_length)
]
LISTINGS = [each for each in PAGES if each.twin.is_listing]


@pytest.fixture(scope="module")
def roomy_app(small_home: Path) -> Iterator[RunningApp]:
    with running_app(small_home, "url.max_length=16000") as running:
        yield running


def asked(app: RunningApp, endpoint: Endpoint[Any], name: str, value: object) -> Any:
    known = set(endpoint.params.__struct_fields__)
    given: dict[str, Any] = {key: GIVEN[key] for key in ("url", "q") if key in known}
    if "{domain}" in endpoint.path:
        given["domain"] = GIVEN["domain"]
    given[name] = value
    if "url" in given and name == "domain":
        del given["url"]
    in_path = {key: given.pop(key) for key in list(given) if f"{{{key}}}" in endpoint.path}
    path = endpoint.path
    for key, text in in_path.items():
        path = path.replace(f"{{{key}}}", str(text).replace("?", "%3F"))
    return app.ask(path, **given)


@pytest.mark.parametrize(("endpoint", "name", "most", "longest"), BOUNDS)
def test_the_most_that_is_declared_is_taken_and_no_more(
    roomy_app: RunningApp, endpoint: Endpoint[Any], name: str, most: Any, longest: int
) -> None:
    if longest:
        beginning = BEGINNINGS.get(name, "")
        most = beginning + "a" * (longest - len(beginning))
    beyond = most + "a" if longest else most + 1
    answer = asked(roomy_app, endpoint, name, most)
    assert answer.status in (200, 404), answer.text[:300]
    refused = asked(roomy_app, endpoint, name, beyond)
    assert refused.status == 400
    assert refused.sentence.startswith(f"{name}: expected")


def test_the_longest_query_is_declared() -> None:
    assert {meta.max_length for name, meta in bounds_of(SEARCH.params) if name == "q"} == {LONGEST_QUERY}


@pytest.mark.parametrize("page", LISTINGS, ids=lambda page: page.path)
def test_a_page_of_a_listing_can_be_had_as_csv(app: RunningApp, page: Any) -> None:
    given: dict[str, Any] = {key: GIVEN[key] for key in ("url", "q") if key in page.twin.params.__struct_fields__}
    shown = app.ask(page.path, "GET", None, {"Accept": "text/html"}, **given)
    assert shown.status == 200
    for place in map(unescape, re.findall(r'href="([^"]*format=csv[^"]*)" download', shown.text)):
        answer = app.ask(place)
        assert (answer.status, answer.kind) == (200, "text/csv"), place
    elsewhere = app.ask(page.path, **{**given, "format": "csv"})
    assert elsewhere.status == 303
    answer = app.ask(elsewhere.headers["location"])
    assert (answer.status, answer.kind) == (200, "text/csv")


def test_the_csv_of_a_search_has_as_many_results_as_there_may_be(app: RunningApp) -> None:
    shown = app.ask("/search", q="weft", headers={"Accept": "text/html"})
    (place,) = map(unescape, re.findall(r'href="([^"]*format=csv[^"]*)" download', shown.text))
    assert "limit=100" in place
    assert len(app.ask(place).text.splitlines()) > 11
