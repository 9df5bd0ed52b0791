"""The robots.txt suites of others; every case counts, and each exception is listed with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.suites import suite_file
from weft.robots.file import is_product_token, parse
from weft.robots.rules import Rules

NOT_AS_GOOGLE = {
    ("ID_Encoding", "/foo/bar/ツ"): "Google leaves encoding the URL to its caller; RFC 9309, 2.2.2, encodes both sides",
    ("ID_Encoding", "/foo/bar/baz"): "RFC 9309, 2.2.2, prints /foo/bar/%62%61%7A as a match of /foo/bar/baz",
    (
        "GoogleOnly_IndexHTMLisDirectory",
        "/allowed-slash/",
    ): "to Google index.html is its directory, to us only itself",
    ("GoogleOnly_LineTooLong", "/x/aaaaaaaa"): "Google cuts a line at 16,664 bytes; to us a line is as long as it is",
    ("GoogleOnly_LineTooLong", "/x/bbbbbbbb"): "Google cuts a line at 16,664 bytes; to us a line is as long as it is",
}


def target_of(url: str) -> str:
    return url[url.index("/", len("https://")) :] if url else ""


def google_cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(suite_file("robots/google_robots_cases.json").read_text())["allowed_cases"]
    assert len(cases) == 145
    return cases


def differs(case: dict[str, Any]) -> bool:
    rules = parse(case["robots_txt_latin1"].encode("latin-1")).rules_for(case["agent"])
    return rules.decide(target_of(case["url"])).allowed != case["allowed"]


def test_googles_cases_are_decided_as_google_does_but_for_those_listed() -> None:
    wrong = [(case["test"], target_of(case["url"])) for case in google_cases() if differs(case)]
    unexplained = [
        (test, target[:40])
        for test, target in wrong
        if not any(test == name and target.startswith(start) for name, start in NOT_AS_GOOGLE)
    ]
    assert unexplained == []
    assert len(wrong) == 6, "an exception that is none any more must leave the list"


def test_of_the_cases_of_the_rfc_only_those_about_encoding_differ() -> None:
    cases = [case for case in google_cases() if case["test"].startswith("ID_")]
    assert len(cases) == 72
    assert {case["test"] for case in cases if differs(case)} == {"ID_Encoding"}


def test_product_tokens_are_those_that_google_takes() -> None:
    cases = json.loads(suite_file("robots/google_robots_cases.json").read_text())["agent_token_cases"]
    assert len(cases) == 10
    assert [case for case in cases if is_product_token(case["agent"]) != case["valid"]] == []


def rules(file: str, agent: str) -> Rules:
    return parse(suite_file(f"robots/crawler-commons/{file}").read_bytes()).rules_for(agent)


def sitemaps(file: str) -> tuple[str, ...]:
    return parse(suite_file(f"robots/crawler-commons/{file}").read_bytes()).sitemaps


# file, agent, paths that are allowed, paths that are refused
CRAWLER_COMMONS = [
    ("astore.amazon.com-robots.txt", "weft", "/", ""),
    ("crawl-delay-group-merging.txt", "mybot", "/ /login/", "/private/"),
    ("crawl-delay-group-merging.txt", "yourbot", "/", "/private/ /login/"),
    ("crawl-delay-group-merging.txt", "weft", "/ /private/ /login/", ""),
    ("directive-typos-robots.txt", "bot1", "/", "/desallow/ /dissalow/"),
    ("directive-typos-robots.txt", "bot2", "/ /desallow/", "/useragent/"),
    ("directive-typos-robots.txt", "bot3", "/", "/useg-agent/"),
    ("directive-typos-robots.txt", "bot4", "/", "/useragent-no-colon/"),
    ("dos-line-endings.txt", "weft", "/", ""),
    ("extended-standard-robots.txt", "bot1", "/ /x", ""),
    ("extension-robots.txt", "weft", "/ /private/ /llms.txt", ""),
    ("extension-robots.txt", "mybot", "/ /secret/", "/private/"),
    ("extension-robots.txt", "otherbot", "/", "/admin/"),
    ("extensions-group-merging.txt", "weft", "/llms.txt", "/ /private/"),
    ("extensions-group-merging.txt", "mybot", "/", "/login/ /private/"),
    ("extensions-group-merging.txt", "yourbot", "/", "/login/ /private/"),
    ("format-errors-robots.txt", "bot1", "/", "/whitespace-before-colon/ /no-colon/"),
    ("format-errors-robots.txt", "bot2", "/", "/no-colon-useragent/"),
    ("format-errors-robots.txt", "bot3", "/whitespace-before-colon", "/ /other"),
    (
        "malformed-path.txt",
        "weft",
        "/wiki/ /wiki/Wikipedia_talk%25",
        "/wiki/Wikipedia_talk:Mediation_Committee/ /wiki/Wikipedia_talk%3AMediation_Committee/x "
        "/wiki/Wikipedia_talk%3Mediation_Committee/",
    ),
    ("many-user-agents.txt", "weft", "/", ""),
    ("many-user-agents.txt", "wget", "", "/ /x"),
    ("merge-rules.txt", "wget", "/foo/bar /ckh/bar", "/tmp/bar"),
    ("merge-rules.txt", "weft", "/ckh/bar", "/tmp/bar /foo/bar"),
    ("merge-rules.txt", "testy", "", "/ /x"),
    ("precedence-of-rules.txt", "wget", "/foo /index.html /foo/bar", "/x /fo"),
    ("precedence-of-rules.txt", "testy", "/ /foo/bar", "/foo /foo/bx /foo/ba"),
    ("relative-sitemap-robots.txt", "weft", "/", "/cache/ /files/x"),
    ("rfc9309-example-longest-match-robots.txt", "foobot", "/example/page/", "/example/page/disallowed.gif"),
    ("rfc9309-example-rule-group-merging.txt", "ExampleBot", "/", "/foo /bar /baz"),
    ("rfc9309-example-rule-group-merging.txt", "bazbot", "/foo /bar", "/baz"),
    ("rfc9309-example-rule-group-merging.txt", "weft", "/baz", "/foo /bar"),
    ("rfc9309-example-simple-robots.txt", "weft", "/publications/ /a.gif?x", "/a.gif /x/b.gif /example/"),
    ("rfc9309-example-simple-robots.txt", "foobot", "/example/page.html /example/allowed.gif", "/ /example/x"),
    ("rfc9309-example-simple-robots.txt", "barbot", "/ /example/", "/example/page.html"),
    ("rfc9309-example-simple-robots.txt", "bazbot", "/ /example/", "/example/page.html"),
    ("rfc9309-example-simple-robots.txt", "quxbot", "/ /example/page.html /a.gif", ""),
    ("robots-with-utf8-bom.txt", "weft", "/ /output/print", "/profile /x/output/print"),
    ("robots-with-utf16le-bom.txt", "weft", "/ /output/print", "/profile /x/output/print"),
    ("robots-with-utf16be-bom.txt", "googlebot", "/", "/profile /login.aspx /x/output/print"),
    ("sitemap-robots.txt", "weft", "/", ""),
    ("sitemap-robots-dedup.txt", "weft", "/", ""),
    ("twitter.com-robots.txt", "weft", "/ /with_friends", "/x? /x?y=1 /me/with_friends"),
    ("wildcards.txt", "weft", "/ /wishlist/universal", "/gp/cart /wishlist/ /gp/registry/wishlist/1/reserve"),
    ("www.flot.com-robots.txt", "weft", "/", "/img/ /bitrix/x"),
]


@pytest.mark.parametrize(("file", "agent", "allowed", "refused"), CRAWLER_COMMONS)
def test_files_of_crawler_commons_say_what_they_mean(file: str, agent: str, allowed: str, refused: str) -> None:
    found = rules(file, agent)
    paths = allowed.split() + refused.split()
    assert [path for path in paths if found.decide(path).allowed] == allowed.split()


def test_every_file_of_crawler_commons_is_read() -> None:
    folder = suite_file("robots/crawler-commons")
    assert {path.name for path in folder.iterdir()} == {file for file, *_ in CRAWLER_COMMONS}


@pytest.mark.parametrize(
    ("file", "agent", "delay"),
    [
        ("astore.amazon.com-robots.txt", "weft", 5),
        ("dos-line-endings.txt", "weft", 1),
        ("crawl-delay-group-merging.txt", "mybot", 10),
        ("crawl-delay-group-merging.txt", "yourbot", None),
        ("crawl-delay-group-merging.txt", "weft", 30),
        ("twitter.com-robots.txt", "slurp", 1),
        ("twitter.com-robots.txt", "msnbot", 10),
        ("twitter.com-robots.txt", "weft", None),
    ],
)
def test_delays_of_crawler_commons(file: str, agent: str, delay: float | None) -> None:
    assert rules(file, agent).crawl_delay == delay


def test_sitemaps_of_crawler_commons() -> None:
    assert sitemaps("sitemap-robots.txt") == (
        "http://domain.com/sitemap.xml",
        "http://domain.com/dir/MixedCased-sitemap.xml",
    )
    assert sitemaps("sitemap-robots-dedup.txt") == ("http://example.org/sitemap.xml",)
    assert sitemaps("relative-sitemap-robots.txt") == ("/sitemap.xml",)
    assert sitemaps("format-errors-robots.txt") == ("/sitemap.xml",)
    assert sitemaps("www.flot.com-robots.txt") == ("http://flot.com/sitemap_index.xml",)
    for width in ("8", "16le", "16be"):
        assert sitemaps(f"robots-with-utf{width}-bom.txt") == ("http://www.newsweek.com/sitemap_index.xml",)
