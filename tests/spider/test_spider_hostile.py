"""Servers that do everything wrong: each fetch ends with its class, and nobody else notices."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from pathlib import Path

import pytest

from support.running_spider import fast_settings, running_spider
from support.suites import suite_file
from support.webservers import ok, web_server
from weft.mgmt.values import LinkState

HEAD = b"HTTP/1.1 200 OK\r\n"


async def end_of(tmp_path, path="/", settings=None, *pieces: bytes, close: bool = False):
    """How a fetch of a server that answers with these bytes ends."""
    async with web_server() as web, running_spider(tmp_path, settings) as running:
        web.answers(path, *pieces, close=close)
        result = await running.fetch(web.url(path))
        state = running.links.outcome(result.doc_id).state
        assert (state is LinkState.CRAWLED) == (result.position is not None)
        return result, running.record(result) if result.position else None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "bad_http"),
        (b"\x16\x03\x01\x00\xa5" * 30, "bad_http"),
        (HEAD + b"A: \0b\r\n\r\n", "bad_http"),
        (HEAD + b"no colon here\r\n\r\n", "bad_http"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 7\r\n\r\nhelloxx", "bad_http"),
        (HEAD + b"Content-Length: -5\r\n\r\nhello", "bad_http"),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\nhello", "bad_http"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n", "bad_http"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n", "bad_http"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "network"),
        (HEAD + b"Content-Length: 100\r\n\r\nonly this", "network"),
        (HEAD + b"Content-Len", "bad_http"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "network"),
        (b"HTTP/1.1 200", "network"),
        (b"", "network"),
        (b"HTTP/9.9 200 OK\r\n\r\n", "bad_http"),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, bytes) else value,
)
def test_what_is_no_whole_http_response_is_an_error(tmp_path, answer, expected):
    result, _ = asyncio.run(end_of(tmp_path, "/", None, answer, close=True))
    assert (result.error, result.status, result.position) == (expected, 0, None)


@pytest.mark.parametrize(
    "line",
    [
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 200OK",
        "HTTP/1.1 20",
        "HTTP/1.1 -1",
        "HTTP/1.1 099 Early",
        "HTTP/1.1 101 Switching Protocols",
        "HTTP/1.1 199 Early",
        "HTTP/1.1 600 Late",
        "HTTP/1.1 999 Late",
        "HTTP/1.1\t200 OK",
        "http/1.1 200 OK",
        "HTTP/1.1 1000 Continue\r\n\r\nHTTP/1.1 200 OK",
    ],
)
def test_a_status_that_no_response_can_have_is_an_error(tmp_path, line):
    answer = line.encode() + b"\r\nContent-Length: 5\r\n\r\nhello"
    result, _ = asyncio.run(end_of(tmp_path, "/", None, answer, close=True))
    assert (result.error, result.status, result.position) == ("bad_http", 0, None)


def test_a_record_begins_with_the_final_head(tmp_path):
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102\r\n\r\n"
    final = HEAD + b"Content-Length: 5\r\n\r\nhello"
    result, record = asyncio.run(end_of(tmp_path, "/", None, interim + final))
    assert (result.status, record.head.fields, record.body) == (200, (("content-length", "5"),), b"hello")
    (file,) = (tmp_path / "warc").glob("*.warc.gz")
    archived = gzip.decompress(file.read_bytes())
    assert b"\r\n\r\n" + final in archived
    assert b"Early Hints" not in archived


def test_what_follows_the_last_chunk_is_not_archived(tmp_path):
    body = b"5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n"
    answer = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body
    _, record = asyncio.run(end_of(tmp_path, "/", None, answer + HEAD + b"Content-Length: 4\r\n\r\nevil"))
    assert record.body == b"hello"
    (file,) = (tmp_path / "warc").glob("*.warc.gz")
    archived = gzip.decompress(file.read_bytes())
    assert answer + b"\r\n\r\n" in archived
    assert b"evil" not in archived


def test_a_long_chunk_extension_hides_nothing(tmp_path):
    body = b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n"
    result, record = asyncio.run(end_of(tmp_path, "/", None, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body))
    assert (result.error, result.size, record.body) == ("", 5, b"hello")


def test_a_chunk_extension_without_end_is_cut_off(tmp_path):
    async def forever(_, writer):
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    result = asyncio.run(one(tmp_path, forever, fast_settings(spider__max_body=100_000)))
    assert result.error == "too_large"


def test_trailers_without_end_are_cut_off(tmp_path):
    async def forever(_, writer):
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
        while True:
            writer.write(b"X-Trailer: and more\r\n" * 100)
            await writer.drain()

    result = asyncio.run(one(tmp_path, forever, fast_settings(spider__max_body=1_000_000)))
    assert result.error in ("header_too_large", "too_large")


@pytest.mark.parametrize("status", [b"304 Not Modified", b"204 No Content"])
def test_a_response_without_a_body_may_name_a_coding(tmp_path, status):
    answer = b"HTTP/1.1 " + status + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
    result, _ = asyncio.run(end_of(tmp_path, "/", None, answer))
    assert (result.error, result.status) == ("", int(status[:3]))


def test_more_chunks_than_are_read_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.archive.http_message.MOST_CHUNKS", 10)
    for count, error in ((9, ""), (10, "bad_encoding")):
        body = b"1\r\nx\r\n" * count + b"0\r\n\r\n"
        answer = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body
        result, _ = asyncio.run(end_of(tmp_path / str(count), "/", None, answer))
        assert (result.error, result.size) == (error, count), "never a page that is cut without a word"


@pytest.mark.parametrize(
    ("beginning", "drop"),
    [
        (HEAD, b"X: y\r\n"),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
        (HEAD + b"X: ", b"y"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"x"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
    ],
    ids=["fields", "interim heads", "a line", "chunks", "an extension", "trailers"],
)
def test_whatever_drips_ends_with_the_total_time(tmp_path, beginning, drop):
    async def drip(_, writer):
        writer.write(beginning)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.02)

    settings = fast_settings(limits__total_seconds=0.3, limits__idle_seconds=0.25)
    assert asyncio.run(one(tmp_path, drip, settings)).error == "timeout"


@pytest.mark.parametrize("coding", ["gzip, chunked", "xchunked", "chunked, gzip"])
def test_a_transfer_coding_that_nobody_asked_for_is_an_error(tmp_path, coding):
    answer = HEAD + f"Transfer-Encoding: {coding}\r\n\r\n".encode() + b"5\r\nhello\r\n0\r\n\r\n"
    result, _ = asyncio.run(end_of(tmp_path, "/", None, answer, close=True))
    assert result.error in ("bad_encoding", "bad_http")


@pytest.mark.parametrize(
    "answer",
    [
        HEAD + b"Content-Length: 5\r\n\r\nhello, and more than was promised",
        HEAD + b"\r\nhello",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
        b"HTTP/1.0 200\r\n\r\nhello",
        HEAD + b"X-Folded: a\r\n  b\r\nContent-Length: 5\r\n\r\nhello",
        HEAD + b"X-Latin: \xe9\xff\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_what_is_odd_but_whole_is_taken(tmp_path, answer):
    result, record = asyncio.run(end_of(tmp_path, "/", None, answer, close=True))
    assert (result.error, result.status) == ("", 200)
    assert record.body[:5] == b"hello"


def test_endless_headers_are_cut_off(tmp_path):
    async def forever(_, writer):
        writer.write(HEAD)
        while True:
            writer.write(b"X-More: and more and more\r\n" * 100)
            await writer.drain()

    result = asyncio.run(one(tmp_path, forever))
    assert (result.error, result.position) == ("header_too_large", None)


def test_a_storm_of_interim_responses_is_cut_off(tmp_path):
    async def forever(_, writer):
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            await writer.drain()

    assert asyncio.run(one(tmp_path, forever)).error == "header_too_large"


async def one(tmp_path, conversation, settings=None):
    async with web_server() as web, running_spider(tmp_path, settings) as running:
        web.conversations["/"] = conversation
        return await running.fetch(web.url("/"))


def test_an_endless_body_is_archived_as_far_as_it_may_go(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path, fast_settings(spider__max_body=500_000)) as running:
            web.conversations["/"] = endless
            result = await running.fetch(web.url("/"))
            record = running.record(result)
            assert (result.error, result.status) == ("too_large", 200)
            assert (record.truncated, record.body) == ("length", b"x" * 500_000)

    asyncio.run(scenario())


async def endless(_, writer):
    writer.write(HEAD + b"Content-Type: text/html\r\n\r\n")
    while True:
        writer.write(b"x" * 65536)
        await writer.drain()


def test_a_body_that_says_it_is_too_large_is_not_even_begun(tmp_path):
    settings = fast_settings(spider__max_body=1024)
    answer = HEAD + b"Content-Length: 1025\r\n\r\n" + b"x" * 1025
    result, record = asyncio.run(end_of(tmp_path, "/", settings, answer))
    assert (result.error, result.status, record.truncated, record.body) == ("too_large", 200, "length", b"")


def test_a_body_of_exactly_the_limit_is_whole(tmp_path):
    settings = fast_settings(spider__max_body=1024)
    result, record = asyncio.run(end_of(tmp_path, "/", settings, ok(b"x" * 1024)))
    assert (result.error, record.truncated, len(record.body)) == ("", "", 1024)


@pytest.mark.parametrize(
    ("name", "encoding", "expected"),
    [
        ("bomb-gzip.bin", b"gzip", "bomb"),
        ("bomb-br.bin", b"br", "bomb"),
        ("bomb-zstd.bin", b"zstd", "bomb"),
        ("bomb-deflate.bin", b"deflate", "bomb"),
        ("html-gzip-deflate-gzip.bin", b"gzip, deflate, gzip", "bad_encoding"),
        ("html-gzip.bin", b"br", "bad_encoding"),
        ("html-gzip-deflate.bin", b"gzip, deflate", ""),
    ],
)
def test_bombs_are_kept_packed_and_told(tmp_path, name, encoding, expected):
    packed = suite_file(f"bodies/bombs/{name}").read_bytes()
    answer = ok(packed, b"Content-Encoding: " + encoding)
    result, record = asyncio.run(end_of(tmp_path, "/", None, answer))
    assert (result.error, record.body) == (expected, packed)


def test_a_server_that_never_answers_times_out(tmp_path):
    async def silence(_, writer):
        await asyncio.sleep(60)

    settings = fast_settings(limits__idle_seconds=0.3, limits__total_seconds=3600.0)
    assert asyncio.run(one(tmp_path, silence, settings)).error == "timeout"


def test_one_byte_at_a_time_ends_with_the_total_time(tmp_path):
    async def drip(_, writer):
        writer.write(HEAD + b"Content-Length: 100000\r\n\r\n")
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.1)

    settings = fast_settings(limits__total_seconds=1.0, limits__idle_seconds=0.5)
    assert asyncio.run(one(tmp_path, drip, settings)).error == "timeout"


def test_silence_in_the_middle_of_a_body_times_out(tmp_path):
    async def stall(_, writer):
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nhello")
        await asyncio.sleep(60)

    settings = fast_settings(limits__idle_seconds=0.3, limits__total_seconds=3600.0)
    assert asyncio.run(one(tmp_path, stall, settings)).error == "timeout"


def test_a_refused_connection_is_told_from_one_that_breaks(tmp_path):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))

        async def scenario():
            async with running_spider(tmp_path) as running:
                return await running.fetch(f"http://a.test:{nobody.getsockname()[1]}/")

        assert asyncio.run(scenario()).error == "connect"


def test_a_reset_is_a_network_error(tmp_path):
    async def reset(_, writer):
        writer.write(HEAD + b"Content-Length: 100\r\n\r\nhel")
        await writer.drain()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    assert asyncio.run(one(tmp_path, reset)).error == "network"


def test_a_kept_connection_that_died_meanwhile_is_made_anew(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/last", ok(b"bye"), close=True)
            assert (await running.fetch(web.url("/last"))).error == ""
            assert (await running.fetch(web.url("/next"))).error == ""
            assert web.connections == 2

    asyncio.run(scenario())


def anonymous_memory() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured by /proc")
def test_hostile_servers_hold_nobody_up_and_memory_stays_bounded(tmp_path):
    """40 endless bodies, 40 silent ones and 20 bombs beside 300 pages: 400 MB unless large bodies leave memory."""

    async def silence(_, writer):
        await asyncio.sleep(60)

    async def scenario():
        limits = {"connect_seconds": 30.0, "idle_seconds": 50.0, "total_seconds": 50.0}
        settings = fast_settings(**{f"limits__{name}": value for name, value in limits.items()})
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            bomb = gzip.compress(bytes(30 << 20), 9)
            for number in range(40):
                web.conversations[f"/endless{number}"] = endless
                web.conversations[f"/silent{number}"] = silence
            web.answers("/bomb", ok(bomb, b"Content-Encoding: gzip"))
            urls = [web.url(f"/endless{n}") for n in range(40)] + [web.url(f"/silent{n}") for n in range(40)]
            urls += [web.url("/bomb")] + [web.url(f"/page{n}") for n in range(300)]
            ids = running.links.claim(*urls)
            before = most = anonymous_memory()
            url_server = await running.connect()
            lines = [f"t{n} {doc_id} 127.0.0.1 {url}" for n, (doc_id, url) in enumerate(zip(ids, urls, strict=True))]
            url_server.ask(*lines)
            done: set[str] = set()
            wanted = {f"t{n} DONE" for n in range(len(urls)) if "/silent" not in urls[n]}
            async with asyncio.timeout(40):
                while wanted - done:
                    done.add((await url_server.reader.readline()).decode().strip())
                    most = max(most, anonymous_memory())
            silent = {f"t{n} DONE" for n in range(40, 80)}
            assert not done & silent, "what never answers cannot have ended before the rest"
            assert most - before < 150 << 20
            ends = [running.links.result(doc_id) for doc_id in ids]
            assert {end.error for end in ends[:40]} == {"too_large"}
            assert ends[80].error in ("bomb", "too_large")
            assert {end.error for end in ends[81:]} == {""}

    asyncio.run(scenario())
