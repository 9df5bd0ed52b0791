"""Records by position over HTTP, for builders on other nodes."""

from __future__ import annotations

import asyncio
from http.client import HTTPConnection

import pytest

from support.running_spider import fast_settings, running_spider
from support.webservers import web_server
from weft.archive.archive_errors import NodeUnreachable
from weft.archive.cdxj import RecordPosition
from weft.archive.record_connection import NodeAccess
from weft.archive.remote_reader import RemoteRecords


def place_of(result):
    return RecordPosition(result.position.file, result.position.offset, result.position.length)


@pytest.mark.parametrize("token", ["", "s3cret"])
def test_a_builder_reads_records_over_one_connection(tmp_path, token):
    async def scenario():
        settings = fast_settings()
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            results = [await running.fetch(web.url(f"/{number}")) for number in range(3)]
        async with running_spider(tmp_path, fast_settings(spider__token=token)) as running:
            records = RemoteRecords(NodeAccess(token))
            node = f"127.0.0.1:{running.port}"
            for result in results:
                found = await asyncio.to_thread(records.read, node, place_of(result))
                assert found == running.record(result)
            records.close()

    asyncio.run(scenario())


async def answer(running, target, **headers):
    def ask():
        connection = HTTPConnection("127.0.0.1", running.port, timeout=10)
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("file=nothing.warc.gz&offset=0&length=10", 404),
        ("file=../../etc/passwd&offset=0&length=10", 404),
        ("file=/etc/passwd&offset=0&length=10", 404),
        ("file=..%2f..%2fx.warc.gz&offset=0&length=10", 404),
        ("file=.hidden.warc.gz&offset=0&length=10", 404),
        ("file=archive.lock&offset=0&length=0", 400),
        ("file=a%00.warc.gz&offset=0&length=1", 404),
        ("offset=0&length=10", 404),
        ("file=a.warc.gz&offset=-1&length=10", 400),
        ("file=a.warc.gz&offset=0&length=99999999999", 400),
        ("file=a.warc.gz&offset=0", 400),
        ("", 400),
    ],
)
def test_what_is_no_record_of_ours_is_refused(tmp_path, query, status):
    async def scenario():
        async with running_spider(tmp_path) as running:
            assert (await answer(running, f"/records?{query}"))[0] == status

    asyncio.run(scenario())


def test_nothing_else_is_served(tmp_path):
    async def scenario():
        async with running_spider(tmp_path) as running:
            assert (await answer(running, "/"))[0] == 400

    asyncio.run(scenario())


def test_with_a_token_it_must_be_shown(tmp_path):
    async def scenario():
        async with running_spider(tmp_path, fast_settings(spider__token="s3cret")) as running:
            target = "/records?file=a.warc.gz&offset=0&length=1"
            assert (await answer(running, target))[0] == 401
            assert (await answer(running, target, Authorization="Bearer wrong"))[0] == 401
            assert (await answer(running, target, Authorization="Bearer s3cret"))[0] == 404

    asyncio.run(scenario())


def test_without_a_token_a_browser_that_was_led_here_is_refused(tmp_path):
    async def scenario():
        async with running_spider(tmp_path) as running:
            target = "/records?file=a.warc.gz&offset=0&length=1"
            assert (await answer(running, target, Host="evil.example:80"))[0] == 421
            assert (await answer(running, target, Host=f"localhost:{running.port}"))[0] == 404

    asyncio.run(scenario())


def test_a_node_that_is_away_is_told_in_a_sentence():
    with pytest.raises(NodeUnreachable, match=r"node 127\.0\.0\.1:1 cannot be asked for its records: refuses"):
        RemoteRecords().read("127.0.0.1:1", RecordPosition("a.warc.gz", 0, 10))


def test_without_a_token_only_who_knows_a_record_is_trusted(tmp_path):
    """A local program that asks for nothing that is there makes room for others, like any stranger."""

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            result = await running.fetch(web.url("/"))
            reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
            writer.write(b"GET /records?file=a.warc.gz&offset=0&length=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"404" in await reader.readline()
            assert not running.limit._trusted
            at = place_of(result)
            query = f"file={at.file}&offset={at.offset}&length={at.length}"
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"GET /records?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await reader.readuntil(b"HTTP/1.1 200")
            assert len(running.limit._trusted) == 1
            writer.close()

    asyncio.run(scenario())


def test_records_are_served_while_no_urls_are_taken(tmp_path):
    async def scenario():
        settings = fast_settings(spider__min_free=1 << 40)
        async with running_spider(tmp_path, settings) as running:
            while running.spider._gate.is_open:
                await asyncio.sleep(0.01)
            assert (await answer(running, "/records?file=a.warc.gz&offset=0&length=1"))[0] == 404

    asyncio.run(scenario())
