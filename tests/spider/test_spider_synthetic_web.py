"""The synthetic web pushed through one spider by lines written by hand, and compared with its definition."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from support.running_spider import Links
from support.spider_process import make_home, start_spider
from weft.archive.body_decoding import DecodeLimits
from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import read_record
from weft.config.sections import MgmtSettings
from weft.demo.web.definition.plan import WebPlan
from weft.demo.web.definition.profile import profile_with
from weft.demo.web.fates import Fate
from weft.demo.web.server.serving import serving
from weft.demo.web.truth import Truth
from weft.mgmt.sqlite import SqliteMgmt

LIMITS = {
    "limits__total_seconds": "20.0",
    "limits__idle_seconds": "6.0",
    "spider__max_body": str(1 << 20),
    "mgmt__lease": "3600",
}
ENDS = {"", "network", "timeout", "bad_http", "too_large", "header_too_large", "bomb", "bad_encoding"}
OUTSTANDING = 100


async def push(spider, lines: list[str]) -> None:
    """Send lines, never more than OUTSTANDING unanswered, until all are DONE."""
    url_server = await spider.connect()
    waiting, done = iter(lines), 0
    url_server.ask(*[line for _, line in zip(range(OUTSTANDING), waiting, strict=False)])
    while done < len(lines):
        line = (await url_server.reader.readline()).decode()
        assert line, "the spider closed the connection"
        if line.endswith(" DONE\n"):
            done += 1
            url_server.ask(*[line for _, line in zip(range(1), waiting, strict=False)])


def check(archive, page, result) -> None:
    """What was reported is what the web's own definition says of the URL."""
    assert result.error in ENDS
    if page.fate is Fate.FAULT:
        assert result.error in ("network", "timeout", "bad_http"), page
    elif page.fate is not Fate.HOSTILE:
        assert (result.error, result.status) == ("", page.status), page
    if result.position is not None:
        place = result.position
        record = read_record(archive, RecordPosition(place.file, place.offset, place.length))
        assert (record.url, record.status) == (page.url, result.status)
        if page.fate is Fate.PAGE:
            content = record.content(DecodeLimits()).data
            assert len(content) == result.size
            assert b"</html>" in content.replace(b"\0", b"").lower()


def push_web(tmp_path, profile: str, count: int) -> dict[str, int]:
    async def scenario():
        home = make_home(tmp_path / "home")
        # Nobody here gives signs of life for the crawler.
        links = Links(SqliteMgmt(home.path / "mgmt.db", settings=MgmtSettings(lease=3600.0)))
        plan = WebPlan(hosts=max(5, count // 50), pages=60, addresses=5, profile=profile_with(profile, []))
        with serving(plan) as served:
            pages = list(Truth(served.world).walk([served.url(0)], limit=count))
            pages = [page for page in pages if page.fate is not Fate.CLOSED]
            addresses = {host.name: host.address for host in served.world.all_hosts()}
            ids = links.claim(*[page.url for page in pages])
            spider = await start_spider(home, **LIMITS)
            names = [page.url.split("/")[2].partition(":")[0] for page in pages]
            lines = [f"{i} {i} {addresses[n]} {p.url}" for i, n, p in zip(ids, names, pages, strict=True)]
            async with asyncio.timeout(300):
                await push(spider, lines)
            assert (await spider.stop())[0] == 0
            results = links.results()
            assert set(results) == set(ids)
            for doc_id, page in zip(ids, pages, strict=True):
                check(home.path / "warc", page, results[doc_id])
        links.mgmt.close()
        return Counter(result.error for result in results.values())

    return asyncio.run(scenario())


def test_the_synthetic_web_goes_through_one_spider_as_it_is_defined(tmp_path):
    assert sum(push_web(tmp_path, "finite", 300).values()) > 200


@pytest.mark.long
def test_five_thousand_urls_of_a_hostile_web_go_through_one_spider(tmp_path):
    ends = push_web(tmp_path, "hostile", 5000)
    assert len(ends) > 3, "the web was not hostile"
    assert ends[""] > 4000
