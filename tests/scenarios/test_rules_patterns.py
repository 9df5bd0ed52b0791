"""Site patterns served by a real server and crawled by `weft crawl`: duplicates are left out, and no page is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rules_crawled import crawl
from rules_measuring import Measured
from support.weft_command import weft
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.patterns.catalogue import PATTERNS
from weft.demo.web.patterns.pattern import Pattern

HELD_OUT = 204
"""A seed that was never looked at while the bounds were chosen."""
QUICK = ("session", "session required", "session, clocks and counters", "session behind the path")
SILENT = ("one text for every URL", "random text")


def named(*names: str) -> list[Pattern]:
    return [each for each in PATTERNS if each.name in names]


class Crawled(NamedTuple):
    place: Path
    measured: dict[str, Measured]

    def rules(self, *arguments: str) -> list[dict[str, Any]]:
        done = weft("rules", *arguments, "--json", "--home", "home", cwd=self.place)
        return json.loads(done.stdout)["items"]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """Six sites in one crawl."""
    place = tmp_path_factory.mktemp("patterns")
    return Crawled(place, crawl(named(*QUICK, *SILENT), HELD_OUT, place))


def test_sessions_are_learned_while_they_are_crawled(crawled: Crawled) -> None:
    for pattern in named(*QUICK):
        found = crawled.measured[pattern.host]
        assert found.pages > 30
        assert found.wrongly_hidden == 0
        assert found.avoided >= 0.9 or not pattern.is_promised


def test_the_rule_is_listed_with_its_evidence_and_what_it_saved(crawled: Crawled) -> None:
    best = max(crawled.rules("session.test"), key=lambda rule: rule["saved"])
    assert (best["reach"], best["about"], best["contradictions"]) == ("host", "session", 0)
    assert best["support"] >= 6
    assert best["saved"] > crawled.measured["session.test"].fetched
    shown = weft("rules", "session.test", "--home", "home", cwd=crawled.place).stdout.splitlines()
    assert shown[2].startswith("session ")
    assert len(shown) <= 15


def test_hosts_with_one_text_or_any_text_are_crawled_whole_and_explained(crawled: Crawled) -> None:
    requests = [line for line in read_log(crawled.place / "web.log") if isinstance(line, RequestLine)]
    for pattern in named(*SILENT):
        found = crawled.measured[pattern.host]
        assert found.wrongly_hidden == 0
        assert found.fetched == len(pattern.server(HELD_OUT)("/", [], 1).links) + 1
        assert [rule for rule in crawled.rules(pattern.host) if not rule["dropped"]] == []
        line = next(each for each in requests if each.host == pattern.host and "?" in each.target)
        url = f"http://{line.host}:{line.port}{line.target}"
        why = weft("why", url, "--home", "home", cwd=crawled.place)
        assert "parameters:" not in why.stdout
        assert "200" in why.stdout


@pytest.mark.long
def test_every_pattern_keeps_both_bounds_when_real_processes_crawl_it(tmp_path: Path) -> None:
    measured = crawl(PATTERNS, HELD_OUT, tmp_path)
    for pattern in PATTERNS:
        found = measured[pattern.host]
        assert found.wrong <= 0.005, pattern.name
        assert found.avoided >= 0.9 or not pattern.is_promised, pattern.name
