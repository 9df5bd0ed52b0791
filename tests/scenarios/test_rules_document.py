"""The document's example, word for word, with real processes: a URL that a rule leaves out is not fetched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import serving

SITE = """
from weft.demo.web.patterns.pages import NOT_FOUND, page
from weft.demo.web.patterns.pattern import Pattern
from weft.demo.web.patterns.sites import PatternSite

LINKS = {
    "/": ["/page1.html", "/page1.html?lang=en", "/near.html"],
    "/page1.html": [],
    "/near.html": ["/far.html"],
    "/far.html": ["/farther.html"],
    "/farther.html": ["/page1.html?lang=en&lang=en"],
}

def make(plan):
    def answer(path, given, visit):
        return page(path, [(href, "a link") for href in LINKS[path]]) if path in LINKS else NOT_FOUND
    return [PatternSite(Pattern("example", lambda _: answer), plan.seed, "127.0.0.1")]
"""
SETS = ("--set", "dispatcher.rule_sample=0", "--set", "urlserver.req_host_per_sec=20")


def test_the_documents_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site_of_the_document.py").write_text(SITE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "home").mkdir()
    plan = WebPlan(hosts=1, pages=1, addresses=1, extra_sites="site_of_the_document:make")
    with serving(plan, tmp_path / "web.log") as served:
        (tmp_path / "home/weft.toml").write_text(served.settings_text())
        origin = f"http://example.test:{served.plan.port}"
        done = weft("crawl", f"{origin}/", "--home", "home", *SETS, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        served.flush()
    lines = [line for line in read_log(tmp_path / "web.log") if isinstance(line, RequestLine)]
    assert sorted(line.target for line in lines) == [
        "/",
        "/far.html",
        "/farther.html",
        "/near.html",
        "/page1.html",
        "/page1.html?lang=en",
        "/robots.txt",
    ]
    twice = f"{origin}/page1.html?lang=en&lang=en"
    uri = f"test.example:{served.plan.port}/page1.html"
    assert f"lang=en on {uri} -> {uri}" in weft("why", twice, "--home", "home", cwd=tmp_path).stdout
    listed = json.loads(weft("rules", "--json", "--home", "home", cwd=tmp_path).stdout)["items"]
    assert [(rule["reach"], rule["about"], rule["support"], rule["saved"]) for rule in listed] == [
        ("value", "lang=en", 1, 1)
    ]
    explained = weft("rules", "--explain", twice, "--home", "home", cwd=tmp_path).stdout
    assert explained.splitlines()[-1] == f"{twice} -> {origin}/page1.html"
