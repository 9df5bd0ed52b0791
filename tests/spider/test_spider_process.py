"""`weft run spider` as users and supervisors meet it: starting, stopping, refusing, and a full disk."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import pytest

from support.running_spider import SOON, Links
from support.spider_process import make_home, refused_start, start_spider, start_supervised_spider
from support.webservers import ok, web_server
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.roles.supervisor_pipe import SupervisorPipe


def nodes(links):
    return {node.address: node.state for node in links.mgmt.nodes() if node.type is NodeType.SPIDER}


async def wait_for_log(spider, part: bytes) -> None:
    """Wait for a line of its log."""
    async with asyncio.timeout(SOON):
        while part not in (line := await spider.process.stderr.readline()):
            assert line, f"ended without {part!r}"


def test_a_spider_registers_serves_and_stops_when_told(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            spider = await start_spider(home)
            assert nodes(links) == {f"127.0.0.1:{spider.port}": NodeState.ONLINE}
            (doc_id,) = links.claim(web.url("/"))
            url_server = await spider.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/')}")
            await url_server.until_done("t")
            spider.signal(signal.SIGTERM)
            await url_server.until_closed()
            assert (await spider.stop())[0] == 0
            assert nodes(links) == {f"127.0.0.1:{spider.port}": NodeState.OFFLINE}
            assert links.results()[doc_id].position.node == f"127.0.0.1:{spider.port}"
        links.mgmt.close()

    asyncio.run(scenario())


def test_a_spider_that_is_told_to_stop_finishes_first_and_a_second_signal_stops_at_once(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            let_go = asyncio.Event()

            async def held(_, writer):
                await let_go.wait()
                writer.write(ok(b"at last"))

            web.conversations["/held"] = held
            for is_patient in (True, False):
                spider = await start_spider(home)
                url = web.url("/held", f"{is_patient}.test".lower())
                (doc_id,) = links.claim(url)
                url_server = await spider.connect()
                url_server.ask(f"t {doc_id} 127.0.0.1 {url}")
                while not web.requests:
                    await asyncio.sleep(0.01)
                spider.signal(signal.SIGTERM)
                await wait_for_log(spider, b"second signal")
                if is_patient:
                    let_go.set()
                    await url_server.until_done("t")
                else:
                    spider.signal(signal.SIGTERM)
                assert (await spider.stop())[0] == 0
                assert links.is_open(doc_id) != is_patient
                let_go.clear()
                web.requests.clear()
        links.mgmt.close()

    asyncio.run(scenario())


def test_without_its_supervisor_a_spider_begins_no_fetch(tmp_path):
    async def scenario():
        home, supervisor = make_home(tmp_path / "home"), SupervisorPipe()
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            let_go = asyncio.Event()

            async def held(_, writer):
                await let_go.wait()
                writer.write(ok(b"at last"))

            web.conversations["/held"] = held
            spider = await start_supervised_spider(home, supervisor, spider__concurrent="1")
            first, second = web.url("/held"), web.url("/second")
            url_server = await spider.connect()
            for doc_id, url in zip(links.claim(first, second), (first, second), strict=True):
                url_server.ask(f"t {doc_id} 127.0.0.1 {url}")
            while not web.requests:
                await asyncio.sleep(0.01)
            supervisor.close()
            await wait_for_log(spider, b"the supervisor is gone")
            await wait_for_log(spider, b"no more fetches are begun because it is being stopped")
            let_go.set()
            assert (await spider.ended())[0] == 0
            await spider.stop()
            assert len(web.requests) == 1
        links.mgmt.close()

    asyncio.run(scenario())


def test_a_port_in_use_is_one_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        home = make_home(tmp_path / "home")
        code, said = asyncio.run(refused_start(home, spider__listen=f'"127.0.0.1:{port}"'))
    assert code == 2
    assert (
        said
        == f"weft: spider.listen: cannot listen on 127.0.0.1:{port}: Address already in use; expected a free port\n"
    )


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_without_a_token_others_must_not_reach_it(tmp_path, listen):
    code, said = asyncio.run(refused_start(make_home(tmp_path / "home"), spider__listen=f'"{listen}"'))
    assert code == 2
    assert said.startswith("weft: spider.listen: ")
    assert "spider.token" in said
    assert said.count("\n") == 1


def test_a_home_that_is_none_is_one_sentence(tmp_path):
    from weft.home import Home

    code, said = asyncio.run(refused_start(Home(tmp_path / "nothing")))
    assert (code, said.count("\n")) == (2, 1)
    assert "no weft home here" in said


def test_an_archive_that_cannot_be_written_is_one_sentence(tmp_path):
    home = make_home(tmp_path / "home")
    (home.path / "warc").write_text("a file where a directory should be")
    code, said = asyncio.run(refused_start(home))
    assert (code, said.count("\n")) == (2, 1)
    assert f"archive {home.path / 'warc'}: cannot be written" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_archive_without_permission_is_one_sentence(tmp_path):
    home = make_home(tmp_path / "home")
    (home.path / "warc").mkdir(mode=0o500)
    code, said = asyncio.run(refused_start(home))
    assert (code, said.count("\n")) == (2, 1)


def test_a_foreign_control_plane_is_one_sentence(tmp_path):
    home = make_home(tmp_path / "home")
    (home.path / "mgmt.db").write_bytes(b"not a database at all" * 100)
    code, said = asyncio.run(refused_start(home))
    assert (code, said.count("\n")) == (2, 1)
    assert "control plane" in said


def test_a_full_disk_stops_the_work_loses_nothing_and_goes_on_by_itself(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            urls = [web.url(f"/{number}") for number in range(20)]
            ids = links.claim(*urls)
            spider = await start_spider(home, fail="archive.written:2:enospc")
            url_server = await spider.connect()
            for start in (0, 10):
                wave = list(zip(ids, urls, strict=True))[start : start + 10]
                url_server.ask(*[f"t{doc_id} {doc_id} 127.0.0.1 {url}" for doc_id, url in wave])
                await url_server.until_done(*[f"t{doc_id}" for doc_id, _ in wave])
            code, said = await spider.stop()
            assert code == 0
            assert "the disk is full; make room and try again; no more is fetched until it can" in said
            assert "archive can be written again" in said
            assert set(links.results()) == set(ids)
        links.mgmt.close()

    asyncio.run(scenario())


def test_too_little_space_left_begins_no_fetch_and_says_why(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            (doc_id,) = links.claim(web.url("/"))
            spider = await start_spider(home, spider__min_free=str(1 << 40))
            await wait_for_log(spider, b"fewer than spider.min_free")
            url_server = await spider.connect()
            url_server.ask(f"t {doc_id} 127.0.0.1 {web.url('/')}")
            assert (await spider.stop())[0] == 0
            assert web.requests == []
            assert links.is_open(doc_id)
        links.mgmt.close()

    asyncio.run(scenario())


def push(tmp_path, count):
    """`count` URLs of many hosts through one spider, by lines written by hand."""

    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            urls = [web.url(f"/page/{number}", f"host{number % 100}.test") for number in range(count)]
            ids = links.claim(*urls)
            spider = await start_spider(home)
            url_server = await spider.connect()
            asked = list(zip(ids, urls, strict=True))
            for start in range(0, count, 200):
                wave = asked[start : start + 200]
                url_server.ask(*[f"0.{doc_id}.7 {doc_id} 127.0.0.1 {url}" for doc_id, url in wave])
                await url_server.until_done(*[f"0.{doc_id}.7" for doc_id, _ in wave])
            assert sorted(url_server.lines) == sorted(f"0.{doc_id}.7 DONE" for doc_id in ids)
            assert (await spider.stop())[0] == 0
            results = links.results()
            assert {results[doc_id].status for doc_id in ids} == {200}
            assert len(web.requests) == count
        links.mgmt.close()
        return home, dict(asked), results

    return asyncio.run(scenario())


def check_with_others(home, asked, results):
    """The archive as warcio and fastwarc read it holds exactly what was asked for."""
    from fastwarc.warc import ArchiveIterator as FastIterator
    from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

    by_warcio, by_fastwarc = {}, {}
    for file in (home.path / "warc").glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                body = record.content_stream().read()
                if record.rec_type == "response":
                    by_warcio[record.rec_headers["WARC-Target-URI"]] = body
        with file.open("rb") as stream:
            for record in FastIterator(stream, parse_http=True):
                if record.headers["WARC-Type"] == "response":
                    by_fastwarc[record.headers["WARC-Target-URI"]] = record.reader.read()
    assert by_warcio == by_fastwarc
    assert set(by_warcio) == set(asked.values())
    assert all(url.partition(".test")[2].partition("/")[2].encode() in body for url, body in by_warcio.items())
    assert len(results) == len(asked)


def test_a_thousand_urls_go_through_one_spider(tmp_path):
    check_with_others(*push(tmp_path, 1000))


@pytest.mark.long
def test_five_thousand_urls_go_through_one_spider(tmp_path):
    check_with_others(*push(tmp_path, 5000))
