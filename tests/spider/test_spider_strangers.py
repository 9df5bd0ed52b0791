"""Whoever can reach the port of a spider without its token: gets nothing, holds nobody up, and leaves no traceback."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.running_spider import SOON, Links, RunningSpider, fast_settings, running_spider
from support.spider_process import SpiderProcess, make_home, start_spider
from support.webservers import web_server
from weft.mgmt.sqlite import SqliteMgmt
from weft.roles import connection_limit
from weft.wire import LONGEST_LINE

TOKEN = "s3cret"
RECORDS = b"GET /records?file=a.warc.gz&offset=0&length=1 HTTP/1.1\r\nHost: localhost\r\n"


async def closed(running: RunningSpider, words: bytes) -> bytes:
    """What is answered until the spider closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
    try:
        writer.write(words)
        async with asyncio.timeout(SOON):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def works(running: RunningSpider, token: str) -> None:
    """A URL server that greets properly is served."""
    url_server = await running.connect()
    if token:
        url_server.ask(f"HELLO 1 {token}")
    url_server.ask("t9 99 127.0.0.1 http://a.test/unknown")
    await url_server.until_done("t9")
    await url_server.close()


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("words", [b"G", b"GET /", RECORDS, b"HELLO 1 s3", b"t1 1 127.0.0.1 http://a.te"])
def test_what_is_begun_and_never_ends_is_closed(tmp_path, monkeypatch, token, words):
    monkeypatch.setattr(connection_limit, "STRANGER_SECONDS", 0.05)

    async def scenario():
        async with running_spider(tmp_path, fast_settings(spider__token=token)) as running:
            assert await closed(running, words) == b""
            await works(running, token)
            async with asyncio.timeout(SOON):
                while len(running.limit):
                    await asyncio.sleep(0.001)

    asyncio.run(scenario())


def test_with_a_token_whoever_says_nothing_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(connection_limit, "STRANGER_SECONDS", 0.05)

    async def scenario():
        async with running_spider(tmp_path, fast_settings(spider__token=TOKEN)) as running:
            assert await closed(running, b"") == b""

    asyncio.run(scenario())


@pytest.mark.parametrize("token", ["", TOKEN])
def test_a_url_server_may_be_silent_but_not_in_the_middle_of_a_line(tmp_path, monkeypatch, token):
    monkeypatch.setattr(connection_limit, "STRANGER_SECONDS", 0.05)

    async def scenario():
        async with running_spider(tmp_path, fast_settings(spider__token=token)) as running:
            url_server = await running.connect()
            if token:
                url_server.ask(f"HELLO 1 {token}")
            for _ in range(3):
                await asyncio.sleep(0.06)
                url_server.ask("t1 99 127.0.0.1 http://a.test/")
                assert (await url_server.until_done("t1")).pop() == "t1 DONE"
            url_server.writer.write(b"t2 99 127.0.0.1")
            await url_server.until_closed()

    asyncio.run(scenario())


def test_while_no_lines_are_read_nobody_is_blamed_for_half_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(connection_limit, "STRANGER_SECONDS", 0.05)

    async def scenario():
        async with running_spider(tmp_path) as running:
            url_server = await running.connect()
            url_server.writer.write(b"t1 99 127.0.0.1 http:")
            while not running.spider.desk._connections:
                await asyncio.sleep(0.001)
            running.spider._gate.close("test", "the test says so")
            running.spider.desk.look()
            await asyncio.sleep(0.1)
            running.spider._gate.open("test")
            running.spider.desk.look()
            url_server.ask("//a.test/")
            await url_server.until_done("t1")

    asyncio.run(scenario())


def test_a_flood_of_connections_costs_no_url_server_its_own(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path, fast_settings(spider__token=TOKEN)) as running:
            (doc_id,) = running.links.claim(web.url("/"))
            url_server = await running.connect()
            url_server.ask(f"HELLO 1 {TOKEN}", "t0 99 127.0.0.1 http://a.test/")
            await url_server.until_done("t0")
            strangers = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(200)]
            await works(running, TOKEN)
            assert len(running.limit) <= 33
            url_server.ask(f"t1 {doc_id} 127.0.0.1 {web.url('/')}")
            await url_server.until_done("t1")
            for _, writer in strangers:
                writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "query",
    ["&".join("abcdefghijklmnop"), "file=%00&offset=1&length=1", "file=" + "%ff" * 900, ";" * 500, "file=a&offset=1"],
)
def test_no_question_for_records_is_a_traceback(tmp_path, caplog, query):
    async def scenario():
        async with running_spider(tmp_path) as running:
            words = f"GET /records?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            no_host = b"GET /records HTTP/1.1\r\n\r\n"  # after a 404 others may follow; this ends it
            assert (await closed(running, words + no_host))[9:12] in (b"400", b"404")

    asyncio.run(scenario())
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


PIECES = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b"HELLO 1 ", b"HELLO 1 x\n", b"GET /", RECORDS, b"\r\n\r\n", b"\n", b"\0", b"\xff" * 9, b"x" * LONGEST_LINE]
    ),
    st.sampled_from(
        [b"Authorization: Bearer \xff\0\r\n", b"t1 1 127.0.0.1 http://a.test/\n", b"Content-Length: 9\r\n"]
    ),
)


@given(st.lists(st.lists(PIECES, max_size=6), min_size=1, max_size=6))
@example([[b"GET /records?" + b"&" * 5000 + b" HTTP/1.1\r\n\r\n"]])
@example([[b"GET /" + b"x" * 9000]])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@pytest.mark.parametrize("token", ["", TOKEN])
def test_no_bytes_of_a_stranger_do_harm(caplog, token, connections):
    faults: list[object] = []
    caplog.clear()

    async def scenario():
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        with tempfile.TemporaryDirectory() as home:
            async with running_spider(Path(home), fast_settings(spider__token=token)) as running:
                for pieces in connections:
                    reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
                    try:
                        for piece in pieces:
                            writer.write(piece)
                            await writer.drain()
                        writer.write_eof()
                        async with asyncio.timeout(SOON):
                            await reader.read()
                    except (ConnectionError, OSError):
                        pass
                    writer.close()
                await works(running, token)

    asyncio.run(scenario())
    assert not faults
    assert not [record.message for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.long
def test_five_thousand_strangers_hold_up_no_url(tmp_path):
    async def scenario():
        home = make_home(tmp_path / "home")
        links = Links(SqliteMgmt(home.path / "mgmt.db"))
        async with web_server() as web:
            urls = [web.url(f"/{number}", f"host{number % 50}.test") for number in range(500)]
            ids = links.claim(*urls)
            spider = await start_spider(home, spider__token=f'"{TOKEN}"')
            url_server = await spider.connect()
            url_server.ask(f"HELLO 1 {TOKEN}")
            url_server.ask(*(f"t{doc_id} {doc_id} 127.0.0.1 {url}" for doc_id, url in zip(ids, urls, strict=True)))
            most = await flood(spider, 5000)
            await url_server.until_done(*(f"t{doc_id}" for doc_id in ids))
            assert most <= 600, "files of 128 connections at its port, 50 hosts and its own"
            code, said = await spider.stop()
            assert (code, "Traceback" in said) == (0, False)
        links.mgmt.close()

    asyncio.run(scenario())


async def flood(spider: SpiderProcess, count: int) -> int:
    """Connections that say a little and stay; returns the most files that the spider had open."""
    most, held = 0, []
    for number in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", spider.port)
        writer.write((b"GET /re", b"HELLO 1 ", b"", b"x")[number % 4])
        held.append(writer)
        if len(held) > 500:
            held.pop(0).close()
        if number % 100 == 0:
            most = max(most, len(list(Path(f"/proc/{spider.process.pid}/fd").iterdir())))
    for writer in held:
        writer.close()
    return most
