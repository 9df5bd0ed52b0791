"""Crawling again: pages that change, vanish and come back are followed, and those that stay cost next to nothing."""

from __future__ import annotations

from pathlib import Path

from support.whole_crawl import check_against_the_truth, check_proof, crawl, served_for, told
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import PROFILES
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import Served

PLAN = WebPlan(seed=3, hosts=2, pages=4, profile=PROFILES["plain"])


def page_requests(served: Served, place: Path, after: int = 0) -> list[RequestLine]:
    served.flush()
    lines = [line for line in read_log(place / "web.log") if isinstance(line, RequestLine) and line.kind == "page"]
    return lines[after:]


def test_pages_that_change_vanish_and_come_back_are_followed(tmp_path: Path) -> None:
    with served_for(tmp_path, PLAN) as served:
        start, page, other = served.url(0), served.url(0, 1), served.url(1, 1)
        crawl(tmp_path, start, "--scope", "any")
        check_against_the_truth(served, tmp_path)
        first = page_requests(served, tmp_path)
        crawl(tmp_path, "--again", "0")
        again = page_requests(served, tmp_path, after=len(first))
        assert {line.status for line in again} == {304}
        assert len(again) == len(first)
        assert sum(line.sent for line in again) < sum(line.sent for line in first) / 3
        served.vanish(page)
        served.change(other)
        crawl(tmp_path, "--again", "0")
        assert told(tmp_path, "page", page)["state"] == "gone"
        latest = told(tmp_path, "changes", "--kind", "pages", "--limit", "3")["items"]
        assert {item["change"] for item in latest} == {"page_gone", "page_title", "page_text"}
        changed = page_requests(served, tmp_path, after=len(first) + len(again))
        assert [line.status for line in changed].count(200) == 1
        check_against_the_truth(served, tmp_path)
        served.bring_back(page)
        crawl(tmp_path, "--again", "0")
        assert told(tmp_path, "page", page)["state"] == "page"
        assert [item["change"] for item in told(tmp_path, "changes", page, "--kind", "pages")["items"]] == [
            *("page_new", "page_gone", "page_new"),
        ]
        check_against_the_truth(served, tmp_path)
        check_proof(tmp_path)
