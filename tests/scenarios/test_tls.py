"""URL server and spider as processes that speak TLS with each other, and what they refuse to start with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.certificates import Authority
from support.crawl_driving import Crawl, crawl_of, wait_for
from support.recording_proxy import RecordingProxy
from support.weft_command import one_sentence, weft
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with

TOKEN = "correct-horse-battery-staple"
PLAN = WebPlan(seed=6, hosts=1, pages=3, profile=profile_with("plain", []))
BETWEEN = "127.0.0.3"
"""Where the URL server believes the spider to be."""


@contextmanager
def crawled_through(proxy_host: str, tmp_path: Path, **changes: Any) -> Iterator[tuple[Crawl, RecordingProxy]]:
    """A URL server and its spider, with somebody in between who listens."""
    changes["spider__token"] = f'"{TOKEN}"'
    with crawl_of(tmp_path, PLAN, pages=3, spiders=1, **changes) as crawl:
        proxy = RecordingProxy(proxy_host, ("127.0.0.1", crawl.spider_ports[0]))
        crawl.flags += ["--set", f'urlserver.spider_host="{proxy.address}"']
        crawl.weft("init")
        try:
            yield crawl, proxy
        finally:
            proxy.close()


def tls_changes(authority: Authority, *names: str, days: int = 100) -> dict[str, Any]:
    return {name.replace(".", "__"): f'"{value}"' for name, value in authority.tls(*names, days=days).items()}


def crawl_all(crawl: Crawl) -> None:
    for name in ("spider0", "urlserver0"):
        crawl.start(name)
    wait_for(lambda: crawl.ended() == len(crawl.links), crawl, "all links to end")


def test_whoever_listens_between_two_machines_learns_nothing(tmp_path: Path) -> None:
    tls = tls_changes(Authority(tmp_path), "127.0.0.1", BETWEEN)
    with crawled_through(BETWEEN, tmp_path, **tls) as (crawl, proxy):
        crawl_all(crawl)
        recorded = bytes(proxy.recorded)
        assert recorded.startswith(b"\x16\x03"), "a TLS handshake"
        for secret in (TOKEN.encode(), b"HELLO", b"DONE", b"http://"):
            assert secret not in recorded
        url = next(iter(crawl.links))
        why = json.loads(crawl.weft("why", url, "--json").stdout)
        assert "problem" not in why["host"], "weft why asks over TLS too"
        assert crawl.mgmt.counts().links["crawled"] == len(crawl.links)
        assert not [line for line in crawl.told().splitlines() if "refuse" in line or "Traceback" in line]


def test_without_tls_all_of_it_can_be_read(tmp_path: Path) -> None:
    with crawled_through(BETWEEN, tmp_path) as (crawl, proxy):
        crawl_all(crawl)
        for secret in (TOKEN.encode(), b"HELLO", b"DONE", b"http://"):
            assert secret in proxy.recorded


def test_a_spider_whose_certificate_names_another_machine_gets_no_url(tmp_path: Path) -> None:
    tls = tls_changes(Authority(tmp_path), "127.0.0.1")
    with crawled_through(BETWEEN, tmp_path, **tls) as (crawl, proxy):
        for name in ("spider0", "urlserver0"):
            crawl.start(name)
        wait_for(lambda: f"its certificate does not name {BETWEEN}" in crawl.told(), crawl, "the reason")
        assert f"spider={proxy.address}" in crawl.told()
        assert crawl.ended() == 0
        assert TOKEN.encode() not in proxy.recorded


def test_an_expired_certificate_is_told_by_both_sides(tmp_path: Path) -> None:
    tls = tls_changes(Authority(tmp_path), "127.0.0.1", BETWEEN, days=-1)
    with crawled_through(BETWEEN, tmp_path, **tls) as (crawl, _):
        for name in ("spider0", "urlserver0"):
            crawl.start(name)
        wait_for(lambda: "spider not connected" in crawl.told(), crawl, "the reason")
        assert "its certificate has expired" in crawl.said["urlserver0"].read_text()
        # The spider listens before it says so.
        said = crawl.said["spider0"]
        wait_for(lambda: "other nodes will refuse this one" in said.read_text(), crawl, "the spider's own warning")


POSTGRESQL = ("--set", "mgmt.url=postgresql://nobody@127.0.0.1:1/nothing")
REACHED = "other nodes cannot reach {}; expected the host and port where they can in {}.address"


@pytest.mark.parametrize(
    ("role", "flags", "sentence"),
    [
        (
            "spider",
            ["spider.listen=10.0.0.2:0"],
            "spider.listen: 10.0.0.2 can be reached by others; expected spider.token",
        ),
        (
            "urlserver",
            ["urlserver.listen=10.0.0.2:0"],
            "urlserver.listen: 10.0.0.2 can be reached by others; expected spider.token",
        ),
        (
            "spider",
            ["spider.listen=0.0.0.0:0", "spider.token=t"],
            "spider.listen: " + REACHED.format("0.0.0.0", "spider"),
        ),
        ("spider", ["spider.listen=[::]:0", "spider.token=t"], "spider.listen: " + REACHED.format("::", "spider")),
        (
            "urlserver",
            ["urlserver.listen=0.0.0.0:0", "spider.token=t"],
            "urlserver.listen: " + REACHED.format("0.0.0.0", "urlserver"),
        ),
        (
            "urlserver",
            ["urlserver.listen=0.0.0.0:0", "spider.token=t", "urlserver.address=0.0.0.0:7069"],
            "urlserver.address: " + REACHED.format("0.0.0.0", "urlserver"),
        ),
        ("spider", ["tls.ca=missing.pem"], "tls.certificate: expected a file, and tls.key too"),
        ("urlserver", ["tls.ca=missing.pem"], "tls.certificate: expected a file, and tls.key too"),
        (
            "spider",
            ["tls.ca=ca.pem", "tls.certificate=missing.pem", "tls.key=missing.key"],
            "tls.certificate: missing.pem cannot be read: No such file or directory",
        ),
        (
            "urlserver",
            ["tls.ca=missing.pem", "tls.loopback=false", "urlserver.spider_host=10.0.0.2"],
            "tls.ca: missing.pem",
        ),
        ("urlserver", ["tls.certificate=a.pem", "tls.key=a.key"], "--set: tls.ca: expected a file because of"),
    ],
)
def test_a_role_that_others_could_not_use_does_not_start(
    tmp_path: Path, role: str, flags: list[str], sentence: str
) -> None:
    weft("init", "--home", "home", cwd=tmp_path)
    before = sorted(path.name for path in (tmp_path / "home").iterdir())
    sets = [word for flag in flags for word in ("--set", flag)]
    done = weft("run", role, "--home", "home", *POSTGRESQL, *sets, cwd=tmp_path)
    assert done.returncode == 2
    assert one_sentence(done).startswith(f"weft: {sentence}")
    assert sorted(path.name for path in (tmp_path / "home").iterdir()) == before, "nothing was changed"
