"""`weft why` asks the running URL server, and says so when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.crawl_driving import Crawl, crawl_of, wait_for
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with

PLAN = WebPlan(seed=6, hosts=2, pages=6, profile=profile_with("plain", []))


def asked(crawl: Crawl, url: str) -> dict[str, Any]:
    return json.loads(crawl.weft("why", url, "--json").stdout)


def test_the_clock_of_a_host_is_told_by_the_url_server_that_keeps_it(tmp_path: Path) -> None:
    with crawl_of(tmp_path, PLAN, pages=6, urlserver__req_host_per_sec=0.02) as crawl:
        crawl.weft("init")
        last = crawl.web.url(0, 5)
        host = last.split("/")[2]
        silent = crawl.weft("why", last).stdout
        assert f"host {host}: no URL server is running, so nobody asks it now" in silent
        assert asked(crawl, last)["host"]["problem"].startswith("no URL server is running")
        for name in ("spider0", "spider1", "urlserver0"):
            crawl.start(name)
        wait_for(lambda: asked(crawl, last)["host"].get("ahead") is not None, crawl, "the URL to be queued")
        wait_for(lambda: "may be asked again in" in crawl.weft("why", last).stdout, crawl, "the host's clock")
        said = crawl.weft("why", last).stdout
        assert "50 s between requests" in said
        assert "this URL waits in its queue behind" in said
        facts = asked(crawl, last)
        assert facts["host"]["server"].endswith(f":{crawl.server_ports[0]}")
        assert facts["host"]["queue"]["waiting"] >= 1
        crawl.kill("urlserver0")
        assert "no URL server" in crawl.weft("why", last).stdout
