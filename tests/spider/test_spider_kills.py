"""kill -9 between the first byte and DONE: what was reported can be read, everything else is asked for again."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from support.running_spider import Links
from support.spider_process import make_home, start_spider
from support.webservers import web_server
from weft.archive.cdxj import RecordPosition
from weft.archive.record_reader import read_record
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import LinkState

POINTS = ["spider.fetched", "archive.written", "spider.synced", "spider.reported"]
WAVES, WAVE = 6, 8


async def ask_in_waves(spider, asked: Sequence[tuple[int, str]]) -> set[int]:
    """Send lines as long as the spider lives; returns the doc_ids that were answered."""
    url_server = await spider.connect()
    answered: set[int] = set()
    for start in range(0, len(asked), WAVE):
        wave = asked[start : start + WAVE]
        url_server.ask(*[f"{doc_id} {doc_id} 127.0.0.1 {url}" for doc_id, url in wave])
        while not {doc_id for doc_id, _ in wave} <= answered:
            line = await url_server.reader.readline()
            if not line:
                return answered
            answered.add(int(line.split()[0]))
    return answered


def check_result(home, result, url):
    place = result.position
    record = read_record(home.path / "warc", RecordPosition(place.file, place.offset, place.length))
    assert record.url == url
    assert url.rpartition("/")[2].encode() in record.body


def check_archive(home, expected: set[tuple[str, int]]) -> None:
    """Every file is whole for a foreign reader, has its index, and the index knows every reported record."""
    indexed = set()
    for file in (home.path / "warc").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                record.content_stream().read()
        for line in file.with_name(file.name.removesuffix(".warc.gz") + ".cdxj").read_text().splitlines():
            fields = json.loads(line.partition("{")[1] + line.partition("{")[2])
            indexed.add((fields["filename"], int(fields["offset"])))
    assert expected <= indexed


def kill_at(tmp_path, point, passing):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            urls = [web.url(f"/page-{number}") for number in range(WAVES * WAVE)]
            asked = list(zip(links.claim(*urls), urls, strict=True))
            spider = await start_spider(home, fail=f"{point}:{passing}:kill")
            answered = await ask_in_waves(spider, asked)
            assert (await spider.stop())[0] == -signal.SIGKILL
            assert len(answered) < len(asked)
            reported = {doc_id for doc_id, _ in asked if not links.is_open(doc_id)}
            assert answered <= reported, "DONE was said of something that is not stored"
            again = await start_spider(home)
            assert await ask_in_waves(again, [(doc_id, url) for doc_id, url in asked if doc_id not in reported])
            assert (await again.stop())[0] == 0
            assert len(web.requests) - len(asked) <= WAVE, "refetches are at most what was in flight"
            assert all(links.outcome(doc_id).state is LinkState.CRAWLED for doc_id, _ in asked)
            results = links.results()
            for doc_id, url in asked:
                check_result(home, results[doc_id], url)
            check_archive(home, {(r.position.file, r.position.offset) for r in results.values()})
            links.mgmt.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_loses_nothing_acknowledged(tmp_path, point):
    kill_at(tmp_path, point, 2)


@pytest.mark.long
@pytest.mark.parametrize("passing", [1, 3, 4])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_another_moment_loses_nothing_either(tmp_path, point, passing):
    kill_at(tmp_path, point, passing)
