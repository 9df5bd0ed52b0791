"""What answers look like: JSON, CSV, problems; kept copies; headers of security; files; listings page by page."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest

from support.web_app import FORMULA, HUB, PAGES, SCRIPT, Answer, RunningApp
from weft.web.security_headers import SECURITY_HEADERS

LISTINGS: dict[str, dict[str, Any]] = {
    "top": {},
    "top of a domain": {"domain": "s1.example"},
    "domains": {"by": "pages"},
    "domains by references": {"by": "references"},
    "links": {"url": HUB},
    "links out": {"url": HUB, "direction": "out"},
    "changes": {},
    "changes of a page": {"of": HUB},
    "changes of a domain": {"of": "s1.example"},
    "changes of pages": {"kind": "pages", "since": "2025-01-01"},
    "search": {"q": "weft", "per_domain": "0", "fold": "false"},
}


def path_of(listing: str) -> str:
    return f"/api/{listing.split(maxsplit=1)[0]}"


# Kept copies

TAGGED = ("/api/totals", "/api/top", "/api/top?format=csv", "/openapi.json", "/static/weft.css", "/domains")


@pytest.mark.parametrize("path", TAGGED)
def test_what_the_asker_has_is_not_sent_again(app: RunningApp, path: str) -> None:
    first = app.ask(path)
    tag = first.headers["etag"]
    for has in (tag, f"W/{tag}", "*", f'"x", {tag}', f'"x",W/{tag} , "y"', f"  {tag}  "):
        again = app.ask(path, headers={"If-None-Match": has})
        assert (again.status, again.body) == (304, b""), has
        assert again.headers["etag"] == tag
        assert again.headers["cache-control"] == first.headers["cache-control"]
        assert "content-length" not in again.headers or again.headers["content-length"] == "0"
    for has in ('"x"', "W/x", tag.strip('"'), "", ",,,", '"x", *', "\xff"):
        assert app.ask(path, headers={"If-None-Match": has}).status == 200, has
    looked = app.ask(path, "HEAD", headers={"If-None-Match": tag})
    assert looked.status == 304


def test_a_tag_is_of_the_content(app: RunningApp) -> None:
    tags = [app.ask(path).headers["etag"] for path in TAGGED]
    assert len(set(tags)) == len(tags)
    assert tags == [app.ask(path).headers["etag"] for path in TAGGED]


def test_files_with_a_version_are_kept_for_good_and_others_are_not(app: RunningApp) -> None:
    page = app.ask("/").text
    address = page.partition('href="/static/weft.css?v=')[2].partition('"')[0]
    assert "immutable" in app.ask(f"/static/weft.css?v={address}").headers["cache-control"]
    assert app.ask("/static/weft.css").headers["cache-control"] == "no-cache"


# CSV


def rows(answer: Answer) -> list[dict[str, str]]:
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"].startswith('attachment; filename="')
    return list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_listing_as_csv_has_the_items_of_the_listing(app: RunningApp, listing: str) -> None:
    params = {**LISTINGS[listing], "limit": "50"}
    items = app.ask(path_of(listing), **params).json["items"]
    found = rows(app.ask(path_of(listing), **params, format="csv"))
    assert len(found) == len(items) > 0
    for row, item in zip(found, items, strict=True):
        for name, value in item.items():
            if isinstance(value, int) and not isinstance(value, bool):
                assert row[name] == str(value)
            elif isinstance(value, str) and value[:1] not in "=+-@\t\r":
                assert row[name] == value


def test_no_cell_is_a_formula_and_letters_and_quotes_survive(app: RunningApp) -> None:
    found = rows(app.ask("/api/links", url=HUB, format="csv", limit=100))
    anchors = {row["anchor"] for row in found}
    assert FORMULA not in anchors
    assert any(FORMULA in anchor for anchor in anchors)
    assert not any(cell[:1] in ("=", "+", "-", "@", "\t", "\r") for row in found for cell in row.values() if cell)
    assert any("Größe “für” 日本" in anchor and "\U0001f600" in anchor for anchor in anchors)
    assert 'quotes "and", commas' in anchors
    titles = [row["title"] for row in rows(app.ask("/api/search", q="weft", per_domain=0, limit=50, format="csv"))]
    assert not any(title[:1] in "=+-@" for title in titles if title)


def test_an_empty_listing_as_csv_is_empty(app: RunningApp) -> None:
    answer = app.ask("/api/search", q="nowhere", format="csv")
    assert (answer.status, answer.body) == (200, b"")


# Page by page


def walk(app: RunningApp, listing: str, way: str, cursor: str | None = None) -> Iterator[dict[str, Any]]:
    while True:
        more: dict[str, Any] = {"cursor": cursor} if cursor else {}
        answer = app.ask(path_of(listing), **LISTINGS[listing], limit=3, **more)
        assert answer.status == 200, answer.body
        yield answer.json
        cursor = answer.json[way]
        if cursor is None:
            return


@pytest.mark.parametrize("listing", LISTINGS)
def test_cursors_lead_through_a_whole_listing_and_back(app: RunningApp, listing: str) -> None:
    whole = app.ask(path_of(listing), **LISTINGS[listing], limit=50).json["items"]
    pages = []
    for page in walk(app, listing, "next"):
        pages.append(page)
        if sum(len(each["items"]) for each in pages) >= len(whole):
            break
    there = [item for page in pages for item in page["items"]][: len(whole)]
    if listing == "search":  # scores of later pages of results may be shown differently
        assert [item["uri"] for item in there] == [item["uri"] for item in whole]
    else:
        assert there == whole
    assert len(pages) > 1
    back = list(walk(app, listing, "prev", pages[-1]["prev"]))
    found = [item.get("uri", item) for page in reversed(back) for item in page["items"]]
    wanted = [item.get("uri", item) for page in pages[:-1] for item in page["items"]]
    assert found == wanted


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_cursor_of_another_listing_or_of_nowhere_is_refused(app: RunningApp, listing: str) -> None:
    other = "domains" if not listing.startswith("domains") else "top"
    foreign = app.ask(path_of(other), **LISTINGS[other], limit=1).json["next"]
    for cursor in (foreign, "x", "====", "é", "%00", "\x00", "a" * 8192, "-" * 100, "Pg", "PAAAAAA"):
        answer = app.ask(path_of(listing), **LISTINGS[listing], cursor=cursor)
        assert answer.status == 400, cursor
        assert "cursor" in answer.sentence


@pytest.mark.parametrize("listing", LISTINGS)
def test_a_cursor_that_was_tampered_with_is_refused_or_leads_somewhere(app: RunningApp, listing: str) -> None:
    cursor = app.ask(path_of(listing), **LISTINGS[listing], limit=1).json["next"]
    for at in range(0, len(cursor), 3):
        for put in ("", "A", "_", "zz"):
            changed = cursor[:at] + put + cursor[at + 1 :]
            answer = app.ask(path_of(listing), **LISTINGS[listing], cursor=changed)
            assert answer.status in (200, 400), (changed, answer.body)


# Problems and pages of errors


@pytest.mark.parametrize(
    "path", ["/nothing", "/api/nothing", "/static/nothing", "/api", "/api/", "/do/nothing", "/top/x"]
)
def test_what_is_not_there_is_a_page_for_people_and_a_problem_for_programs(app: RunningApp, path: str) -> None:
    page = app.ask(path, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    told = app.ask(path, headers={"Accept": "application/json"})
    assert (page.status, told.status) == (404, 404)
    assert told.sentence
    if not path.startswith("/api/"):
        assert page.kind == "text/html"
        assert b"<h1>Not Found</h1>" in page.body


def test_a_problem_names_what_is_wrong_and_what_was_expected(app: RunningApp) -> None:
    assert app.ask("/api/top?limit=0").sentence == "limit: expected `int` >= 1"
    assert "expected" in app.ask("/api/top?limti=3").sentence
    assert "missing" in app.ask("/api/page").sentence
    assert app.ask("/api/page", url="https://unknown.example/").status == 404


def test_a_page_never_contains_what_pages_say_unescaped(app: RunningApp) -> None:
    for path in ("/", "/top", "/domains", "/search?q=weft", "/search?q=%3Cscript%3Ealert(1)%3C%2Fscript%3E"):
        answer = app.ask(path)
        assert answer.status == 200, path
        assert SCRIPT not in answer.text
        assert "<script>alert" not in answer.text
        assert "\u202e" not in answer.text
    for path in ("/%3Cscript%3Ealert(1)%3C/script%3E", "/search?q=x&%3Cscript%3Ealert(1)=1"):
        assert "<script>alert" not in app.ask(path, headers={"Accept": "text/html"}).text


# Headers of security


@pytest.mark.parametrize(
    ("path", "status", "headers"),
    [
        ("/", 200, {}),
        ("/api/totals", 200, {}),
        ("/api/totals", 304, {"If-None-Match": "*"}),
        ("/api/top?format=csv", 200, {}),
        ("/static/weft.js", 200, {}),
        ("/static/weft.js", 304, {"If-None-Match": "*"}),
        ("/static/nothing", 404, {}),
        ("/nothing", 404, {}),
        ("/api/page", 400, {}),
        ("/api/totals", 401, {"Authorization": "Bearer x"}),
        ("/api/totals", 421, {"Host": "evil.example"}),
        ("/go?q=x", 303, {}),
        ("/api/retry", 405, {}),
        ("/metrics", 200, {}),
        ("/healthz", 200, {}),
        ("/login?code=x", 403, {}),
    ],
)
def test_every_answer_has_the_headers_of_security(
    app: RunningApp, path: str, status: int, headers: dict[str, str]
) -> None:
    answer = app.ask(path, headers=headers)
    assert answer.status == status
    for name, value in SECURITY_HEADERS.items():
        assert [found for given, found in answer.all_headers if given.lower() == name.lower()] == [value]
    assert "server" not in answer.headers, "nobody needs to know"
    assert answer.headers["cache-control"] if status == 200 and path not in ("/healthz",) else True


def test_nothing_runs_on_a_page_but_our_own_files() -> None:
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


# Files


@pytest.mark.parametrize(
    "name",
    [
        "..%2fapp.py",
        "../app.py",
        "%2e%2e/app.py",
        "..%5capp.py",
        "....//app.py",
        "%00weft.css",
        "weft.css%00.py",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "weft.css/",
        "",
        ".",
        "WEFT.CSS",
        "x" * 5000,
        "%ff%fe",
    ],
)
def test_only_our_own_files_are_served(app: RunningApp, name: str) -> None:
    raw = f"GET /static/{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    answer = app.say(raw)
    assert answer[9:12] in (b"404", b"307", b"400"), answer[:300]
    assert b"import" not in answer
    assert b"root:" not in answer


def test_the_home_of_these_tests_is_what_they_think(app: RunningApp) -> None:
    assert app.ask("/api/totals").json["pages"] > PAGES
