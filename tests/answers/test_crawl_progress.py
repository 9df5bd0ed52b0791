"""How far a crawl is, and how that is shown on a terminal and in a pipe."""

from __future__ import annotations

import io
import time
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from weft.answers.crawl_progress import CrawlProgress
from weft.answers.crawl_summary import FINISHED, CrawlSummary
from weft.answers.disk import Disk
from weft.answers.link_outcomes import by_outcome, missed_of
from weft.cli.crawl_facts import Goal, counted, in_one_line
from weft.cli.crawl_summary import summary_lines
from weft.cli.dashboard import LiveView, sparkline
from weft.clock import ManualClock
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NewLink, RestingHost, RestingHosts
from weft.roles.status_file import last_status, read_status, write_status

FACTS = {
    "pages": 120,
    "discovered": 300,
    "results": 130,
    "links": 900,
    "idle": {"since": 100, "looked": 100},
    "refused": {"out of scope": 7, "depth": 2},
    "freshness": {"p50": 1.25, "p99": 3.0},
}
QUEUES = {"state": "online", "taken": 12, "queued": 80, "spiders": [{"address": "s:1", "urls": 3, "problem": "away"}]}


@pytest.fixture
def progress(tmp_path: Path) -> CrawlProgress:
    return CrawlProgress(MemoryMgmt(ManualClock(1_000)), tmp_path, tmp_path / "warc", least_free=0)


def test_pages_are_summed_over_the_processes_that_loaded_them(progress: CrawlProgress) -> None:
    for pid, pages in ((1, 10), (1, 30), (2, 5)):
        write_status(progress.home, "index", {**FACTS, "pid": pid, "pages": pages})
        progress.look()
    assert progress.total("pages") == 35
    assert progress.refused() == {"out of scope": 14, "depth": 4}


def test_what_an_earlier_crawl_told_does_not_count(tmp_path: Path) -> None:
    write_status(tmp_path, "index", FACTS)
    progress = CrawlProgress(MemoryMgmt(ManualClock(1_000)), tmp_path, tmp_path / "warc", least_free=0)
    progress.look()
    assert progress.total("pages") == 0


@pytest.mark.parametrize("seconds", [-86_400, -3_600, 3_600, 86_400])
def test_what_is_told_counts_whatever_happens_to_the_clock(progress: CrawlProgress, seconds: int) -> None:
    write_status(progress.home, "index", {**FACTS, "at": time.time() + seconds})
    progress.look()
    assert progress.total("pages") == 120
    assert read_status(progress.home, "index") is None, "nobody renews it"


def test_last_words_count_though_nobody_runs_any_more(progress: CrawlProgress) -> None:
    write_status(progress.home, "index", {**FACTS, "ended": True})
    progress.look()
    assert progress.total("pages") == 120
    assert read_status(progress.home, "index") is None
    assert (last_status(progress.home, "index") or {})["pages"] == 120


def test_who_stands_by_tells_who_builds_the_index_instead_of_figures(progress: CrawlProgress) -> None:
    progress.mgmt.add([NewLink("com.a/1", "http://a.com/1", "a.com")])
    write_status(progress.home, "index", {"stands_by": True, "owner": "index@one:/home"})
    progress.look()
    line = in_one_line(progress, Goal())
    assert line.startswith("index stands by while index@one:/home builds it  links 1 waiting"), line
    assert not any(f"  {name} " in line for name in ("pages", "found", "left")), line
    write_status(progress.home, "index", FACTS)
    progress.look()
    assert in_one_line(progress, Goal()).startswith("pages 120")
    write_status(progress.home, "index", {"stands_by": True, "owner": "index@one:/home"})
    progress.look()
    assert progress.total("pages") == 120, "what it built stays counted"


def idle(progress: CrawlProgress, since: int, looked: int, **facts: object) -> bool:
    """Look after the index process told this; whether the crawl is over."""
    write_status(progress.home, "index", {**FACTS, "idle": {"since": since, "looked": looked}, **facts})
    progress.look()
    return progress.is_over


@pytest.fixture
def at_ten(progress: CrawlProgress) -> CrawlProgress:
    """Nothing waited and nothing was under way at the moment 10."""
    progress.clock = ManualClock(10)
    assert not idle(progress, 1, 9), "this step may have begun before the last page was fetched"
    progress.clock = ManualClock(20)
    return progress


def test_a_crawl_is_over_when_the_index_process_finds_nothing_more_to_do(at_ten: CrawlProgress) -> None:
    assert not idle(at_ten, 1, 10), "this one too"
    assert idle(at_ten, 1, 11)


def test_a_crawl_is_not_over_while_links_wait(at_ten: CrawlProgress) -> None:
    at_ten.mgmt.add([NewLink("com.a", "https://a.com/", "a.com")])
    assert not idle(at_ten, 1, 15)


def test_a_crawl_is_not_over_if_the_index_process_has_worked_since_nothing_waited(at_ten: CrawlProgress) -> None:
    assert not idle(at_ten, 12, 15), "at 10 it may have been about to hand out links"
    assert not idle(at_ten, 12, 20)
    assert idle(at_ten, 12, 21)


def test_a_crawl_is_not_over_while_the_index_process_works_or_is_paused(at_ten: CrawlProgress) -> None:
    write_status(at_ten.home, "index", {**FACTS, "idle": None})
    at_ten.look()
    assert not at_ten.is_over
    assert not idle(at_ten, 1, 15), "what waited at 10 says nothing any more"


def test_a_pipe_gets_one_line_with_everything(progress: CrawlProgress) -> None:
    write_status(progress.home, "index", FACTS)
    write_status(progress.home, "urlserver", QUEUES)
    progress.least_free = 1 << 60
    progress.look()
    line = in_one_line(progress, Goal(seconds=1000))
    for part in (
        "pages 120 in ",
        "found 300 links; skipped: 7 out of scope, 2 depth",
        "hosts 12 in use, 80 URLs queued",
        "spider s:1: away",
        "fresh 1.2 s from fetch to answer, p99 3.0 s",
        "fetching waits until there are",
        "stops in 17 min (--seconds)",
    ):
        assert part in line
    assert "\n" not in line


def test_a_terminal_gets_a_table_that_fits(progress: CrawlProgress) -> None:
    write_status(progress.home, "index", FACTS)
    progress.look()
    console = Console(file=io.StringIO(), width=80, height=24, force_terminal=True)
    with LiveView(progress, Goal(pages=240), console) as view:
        view.say("spider ended (killed by signal 9), restarting in 0 s")
        view.show()
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "weft crawl" in shown
    assert "killed by signal 9" in shown
    assert Goal(pages=240).share_done(progress) == 0.5


def test_a_sparkline_is_as_high_as_its_highest_value() -> None:
    assert sparkline([0.0, 1.0, 2.0, 4.0]) == "▁▃▅█"
    assert sparkline([0.0, 0.0]) == ""
    assert len(sparkline([1.0] * 100)) == 30


def test_a_crawl_waits_for_pages_that_are_fetched_again(at_ten: CrawlProgress) -> None:
    assert not idle(at_ten, 1, 15, retrying=3)
    assert "again 3 refused for haste, fetched again soon" in in_one_line(at_ten, Goal())
    assert not idle(at_ten, 1, 16, retrying=0)
    assert idle(at_ten, 1, 21, retrying=0)


def test_a_crawl_does_not_wait_for_a_host_that_rests_for_too_long(at_ten: CrawlProgress) -> None:
    at_ten.mgmt.add([NewLink("com.a", "https://a.com/", "a.com"), NewLink("com.b", "https://b.com/", "b.com")])
    at_ten.mgmt.defer({"a.com": 3_600_000, "b.com": 60_000})  # type: ignore[attr-defined]
    assert not idle(at_ten, 1, 15), "b.com rests for a minute"
    assert "waits a.com rests for 60 min, with 1 link waiting" in in_one_line(at_ten, Goal())
    at_ten.mgmt.defer({"b.com": 3_600_000})  # type: ignore[attr-defined]
    assert not idle(at_ten, 1, 16)
    assert idle(at_ten, 1, 21)
    assert at_ten.left_behind().links == 2


def test_what_is_left_is_the_work_and_not_the_time_limit(progress: CrawlProgress) -> None:
    write_status(progress.home, "index", FACTS)
    progress.mgmt.add([NewLink(f"com.a/{n}", f"https://a.com/{n}", "a.com") for n in range(500)])
    progress.look()
    line = in_one_line(progress, Goal(seconds=40))
    assert "left 500 links known now, none fetched lately" in line
    assert "stops in 40 s (--seconds)" in line
    progress._samples.appendleft((progress._samples[-1][0] - 10, 0, 30))
    assert "left about 50 s for the 500 links known now" in in_one_line(progress, Goal())
    assert "left about 10 s for the 500 links known now" in in_one_line(progress, Goal(pages=240))


def test_links_are_counted_by_what_became_of_them() -> None:
    links = {"pending": 1, "crawling": 2, "crawled": 10, "error": 6}
    found = by_outcome(links, {"404": 3, "500": 1}, {"robots": 4, "network": 2})
    assert counted(found) == (
        "1 waiting, 2 being fetched, 6 crawled, 3 answered 404, 1 answered 500, 2 failed, 4 not allowed"
    )
    assert missed_of({"404": 3, "500": 1, "429": 5, "503": 2}, {"robots": 4, "network": 2, "tls": 1}) == {
        "429": 5,
        "503": 2,
        "network": 2,
    }


NOTHING = CrawlSummary(
    reason=FINISHED,
    led_to={},
    pages=5,
    seconds=1.0,
    discovered=5,
    links={"crawled": 5},
    statuses={},
    errors={},
    refused={},
    missed={},
    left_behind=RestingHosts(0, []),
    failed_chunks=0,
    freshness=None,
    disk=Disk(10**9, 0),
    was_full=False,
    seeds=[],
    more_seeds=0,
    has_no_page=False,
)


@pytest.mark.parametrize(
    ("changes", "is_complete", "said"),
    [
        ({}, True, "Crawl finished: 5 pages"),
        ({"unbuilt_chunks": 2}, True, "2 chunks of fetched pages; the next `weft crawl` builds them first."),
        ({"search_waits": 45_000}, True, "the words of links to 45,000 linked pages are still missing"),
        ({"missed": {"429": 138}}, False, "138 pages could not be had: 429."),
        ({"missed": {"429": 138, "network": 1}}, False, "139 pages could not be had: 138 x 429, 1 x network."),
        (
            {"missed": {"429": 138}, "reason": "stopped after 5 pages"},
            True,
            "138 pages could not be had: 429.",
        ),
        (
            {"left_behind": RestingHosts(9, [RestingHost("a.com", 7, 3_480_000)])},
            False,
            "Left for a later crawl: a.com rests for 58 min, with 7 links waiting.",
        ),
        (
            {"left_behind": RestingHosts(7, [RestingHost("a.com", 7, 3_480_000, "status 503 Retry-After 3600")])},
            False,
            "a.com rests for 58 min, with 7 links waiting, because its server answered 503 and asked for 60 min.",
        ),
        ({"has_no_page": True, "pages": 0}, False, "None of the seeds gave a page."),
        (
            {"was_full": True, "reason": "stopped after 9 s"},
            False,
            "The disk was full, so pages are missing",
        ),
    ],
)
def test_the_summary_tells_what_is_missing_and_whether_that_matters(
    changes: dict[str, object], is_complete: bool, said: str
) -> None:
    summary = msgspec.structs.replace(NOTHING, **changes)
    assert summary.is_complete is is_complete
    assert said in "\n".join(summary_lines(summary, None))
