"""`weft run urlserver` with bad input: one clear sentence, or a reason that is told and costs no link anything."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.crawl_driving import Crawl, crawl_of, wait_for
from support.weft_command import one_sentence, weft
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with

PLAN = WebPlan(seed=2, hosts=2, pages=2, profile=profile_with("plain", []))


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    with crawl_of(tmp_path, PLAN, pages=2, spiders=1) as waiting:
        yield waiting


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    assert weft("init", "--home", "home", cwd=made).returncode == 0
    return made


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("urlserver.queue_count=0", "urlserver.queue_count"),
        ("urlserver.req_host_per_sec=0", "urlserver.req_host_per_sec"),
        ("urlserver.timeout_spider_status=1", "urlserver.timeout_spider_status"),
        ('urlserver.spider_host="nowhere:99999"', "urlserver.spider_host"),
        ('urlserver.listen="0.0.0.0:7069"', "expected spider.token, or a loopback address"),
        ('mgmt.url="mysql://a"', "mgmt.url"),
    ],
)
def test_a_bad_setting_is_named_with_what_was_expected(place, setting, sentence):
    failed = weft("run", "urlserver", "--home", "home", "--set", setting, cwd=place)
    assert failed.returncode == 2
    said = one_sentence(failed)
    assert sentence in said
    assert "expected" in said


def test_a_second_start_on_the_same_port_is_refused_in_a_sentence(crawl):
    crawl.start("urlserver")
    wait_for(lambda: "is registered" in crawl.told(), crawl, "the first one to run")
    second = crawl.weft("run", "urlserver", "--set", f'urlserver.listen="127.0.0.1:{crawl.server_ports[0]}"')
    assert second.returncode == 2
    said = one_sentence(second)
    assert "urlserver.listen: cannot listen on" in said
    assert "Address already in use; expected a free port" in said
    assert len(crawl.mgmt.nodes()) == 1, "the first one keeps its lease"


def reason_told(crawl: Crawl, reason: str) -> None:
    """In the log and by `weft status --queues`; no link is charged with it."""
    wait_for(lambda: reason in crawl.told(), crawl, reason)
    wait_for(lambda: reason in crawl.weft("status", "--queues").stdout, crawl, "the status to tell it")
    assert crawl.mgmt.counts().links["pending"] == len(crawl.links)


def test_without_a_spider_it_waits_says_so_and_goes_on_when_one_comes(crawl):
    crawl.start("urlserver")
    reason_told(crawl, "no spider answers")
    crawl.start("spider0")
    wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")


def test_a_spider_with_another_token_is_told_and_costs_nothing(crawl):
    crawl.flags += ["--set", 'spider.token="theirs"']
    crawl.start("spider0")
    crawl.flags += ["--set", 'spider.token="ours"']
    crawl.start("urlserver")
    reason_told(crawl, "expected a spider of this version with the same spider.token")


class OtherVersion(socketserver.BaseRequestHandler):
    """A spider that speaks first, and another language."""

    def handle(self) -> None:
        self.request.sendall(b"HELLO 99 weft\n")
        self.request.recv(1024)


def test_a_spider_of_another_version_is_told_and_costs_nothing(crawl):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), OtherVersion) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        crawl.flags += ["--set", f'urlserver.spider_host="127.0.0.1:{other.server_address[1]}"']
        crawl.start("urlserver")
        reason_told(crawl, "expected a spider of this version with the same spider.token")
        crawl.stop()
        other.shutdown()
