"""Pages that only a sitemap names are found through robots.txt, end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.weft_command import weft
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with
from weft.demo.web.log import RequestLine, read_log
from weft.demo.web.server.serving import Served, serving

PLAN = WebPlan(seed=7, hosts=3, pages=4, profile=profile_with("plain", ["sitemaps=1"]))
HURRY = ("req_host_per_sec=50.0", "req_ip_per_sec=1000.0", "req_ip_concurrent=100")
SETS = [part for text in HURRY for part in ("--set", f"urlserver.{text}")]
HOST = 2
"""Its sitemap is one plain file."""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(PLAN, tmp_path / "web.log") as running:
        (tmp_path / "home").mkdir()
        (tmp_path / "home/weft.toml").write_text(running.settings_text())
        yield running


def origin(served: Served) -> str:
    return served.url(HOST).removesuffix("/")


def orphans(served: Served) -> set[str]:
    """Pages that stand in the sitemap alone."""
    layout = served.world.hosts.numbered(HOST).layout
    return {served.url(HOST, number) for number in range(layout.count - layout.orphans, layout.count)}


def asked(served: Served) -> set[str]:
    served.flush()
    assert served.log
    lines = (line for line in read_log(served.log) if isinstance(line, RequestLine))
    return {f"http://{line.host}:{line.port}{line.target}" for line in lines}


def why(place: Path, url: str) -> dict:
    return json.loads(weft("why", url, "--json", "--home", "home", cwd=place).stdout)


def test_a_page_that_only_a_sitemap_names_is_found_and_explained(served: Served, tmp_path: Path) -> None:
    done = weft("crawl", served.url(HOST), "--home", "home", *SETS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sitemap = f"{origin(served)}/sitemap.xml"
    assert orphans(served), "this web has pages that are in a sitemap alone"
    assert {sitemap, *orphans(served)} <= asked(served)
    for page in orphans(served):
        found = why(tmp_path, page)["record"]
        assert (found["status"], found["depth"]) == (200, 1)
        assert found["source"] == why(tmp_path, sitemap)["uri"]
    assert why(tmp_path, sitemap)["sitemap_of"] == origin(served)
    told = weft("why", sitemap, "--home", "home", cwd=tmp_path).stdout
    assert f"sitemap: listed in the robots.txt of {origin(served)}" in told
    assert "found in robots.txt" in told
    assert "no URL server is running" in told


def test_a_sitemap_that_the_user_excluded_is_not_fetched(served: Served, tmp_path: Path) -> None:
    assert weft("add", served.url(HOST), "--home", "home", cwd=tmp_path).returncode == 0
    host = origin(served).removeprefix("http://")
    site = weft("sites", host, "--setting", 'exclude=["sitemap"]', "--home", "home", cwd=tmp_path)
    assert site.returncode == 0, site.stderr
    assert weft("crawl", "--home", "home", *SETS, cwd=tmp_path).returncode == 0
    assert served.url(HOST) in asked(served)
    assert f"{origin(served)}/sitemap.xml" not in asked(served)
    assert not orphans(served) & asked(served)
    assert "excluded by 'sitemap'" in why(tmp_path, f"{origin(served)}/sitemap.xml")["refusal"]
