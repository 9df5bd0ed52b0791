"""One fetch through everything: line in, request out, record, result, DONE."""

from __future__ import annotations

import asyncio
import gzip
import socket
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from support.certificates import Authority
from support.running_spider import fast_settings, running_spider
from support.webservers import ok, tunnel, web_server
from weft.archive.body_decoding import DecodeLimits
from weft.mgmt.values import Address, LinkState
from weft.model.fetch_error import Fault, FetchError
from weft.model.original import Original
from weft.model.site import Site, SiteSettings


def warc_file(running):
    (file,) = running.archive.glob("*.warc.gz")
    return file


def test_a_page_is_fetched_archived_reported_and_answered(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            result = await running.fetch(web.url("/x?y=1"))
            record = running.record(result)
            assert (result.status, result.error, result.size) == (200, "", len(record.body))
            assert b"/x?y=1" in record.body
            assert running.links.outcome(result.doc_id).state is LinkState.CRAWLED
            assert result.content_type == "text/html"
            assert 0 < result.started <= result.ended
            assert result.position.node == "127.0.0.1:7070"

    asyncio.run(scenario())


def test_the_request_is_honest_and_plain(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await running.fetch(web.url("/"))
            (request,) = web.requests
            lines = request.decode().split("\r\n")
            agent = "User-Agent: weft/0.1.0 (+https://example.com/bot)"
            assert lines[:3] == ["GET / HTTP/1.1", f"Host: a.test:{web.port}", agent]
            assert "Accept-Encoding: gzip, br, zstd" in lines
            assert not any(line.lower().startswith(("cookie", "referer", "if-", "authorization")) for line in lines)

    asyncio.run(scenario())


@pytest.mark.parametrize("path", ["/", "/a?b=c&d=%20", "/%7Eu/|x?`=;", "/a//b/?"])
def test_the_archived_request_is_what_the_server_got(tmp_path, path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            url = web.url(path)
            await running.fetch(url, etag='"v1"', last_modified="Mon, 02 Feb 2026 10:00:00 GMT")
            with warc_file(running).open("rb") as file:
                requests = [
                    (record.rec_headers["WARC-Target-URI"], record.content_stream().read(), record.http_headers)
                    for record in ArchiveIterator(file, no_record_parse=True)
                    if record.rec_type == "request"
                ]
            assert requests == [(url, web.requests[0], None)]

    asyncio.run(scenario())


def test_validators_become_conditions_and_304_a_revisit(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/v", b'HTTP/1.1 304 Not Modified\r\nETag: "v2"\r\n\r\n')
            known = Original("<urn:uuid:1>", web.url("/before"), "2026-02-02T10:00:00.000Z", "A" * 32)
            modified = "Mon, 02 Feb 2026 10:00:00 GMT"
            result = await running.fetch(web.url("/v"), etag='"v1"', last_modified=modified, original=known)
            lines = web.requests[0].decode().split("\r\n")
            assert 'If-None-Match: "v1"' in lines
            assert "If-Modified-Since: Mon, 02 Feb 2026 10:00:00 GMT" in lines
            assert (result.status, result.error, result.etag) == (304, "", '"v2"')
            record = running.record(result)
            assert (record.status, record.is_revisit, record.body) == (304, True, b"")
            with warc_file(running).open("rb") as file:
                (fields,) = [
                    dict(found.rec_headers.headers) for found in ArchiveIterator(file) if found.rec_type == "revisit"
                ]
            assert fields["WARC-Refers-To-Target-URI"] == web.url("/before")
            assert fields["WARC-Refers-To-Date"] == "2026-02-02T10:00:00.000Z"

    asyncio.run(scenario())


def test_a_validator_with_a_line_break_is_not_sent(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            await running.fetch(web.url("/"), etag='"x"\r\nX-Injected: yes')
            assert b"njected" not in web.requests[0]
            assert b"If-None-Match" not in web.requests[0]

    asyncio.run(scenario())


def test_an_identical_payload_becomes_a_revisit_that_can_be_read(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            first = await running.fetch(web.url("/same"))
            (doc_id,) = [first.doc_id]
            reopened = running.links.robots(web.url("/same"))
            url_server = await running.connect()
            url_server.ask(f"t {reopened} 127.0.0.1 {web.url('/same')}")
            await url_server.until_done("t")
            second = running.links.result(reopened)
            assert doc_id != reopened
            assert running.record(second).is_revisit
            assert running.record(second).body == running.record(first).body

    asyncio.run(scenario())


def test_redirects_are_told_and_not_followed(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/r", ok(b"", b"Location: ../there?x#f", status=b"302 Found"))
            result = await running.fetch(web.url("/r"))
            assert (result.status, result.location) == (302, web.url("/there?x#f"))
            assert len(web.requests) == 1

    asyncio.run(scenario())


def test_cookies_are_not_kept(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/c", ok(b"x", b"Set-Cookie: a=b; Path=/"))
            await running.fetch(web.url("/c"))
            await running.fetch(web.url("/d"))
            assert b"cookie" not in web.requests[1].lower()

    asyncio.run(scenario())


def test_proxies_and_passwords_of_the_environment_are_ignored(tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine a.test login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            result = await running.fetch(web.url("/"))
            assert result.status == 200
            assert b"uthorization" not in web.requests[0]

    asyncio.run(scenario())


def test_encoded_bodies_are_kept_as_received_and_decoded_on_demand(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            packed = gzip.compress(b"text " * 1000)
            web.answers("/z", ok(packed, b"Content-Encoding: gzip"))
            result = await running.fetch(web.url("/z"))
            record = running.record(result)
            assert result.size == 5000
            assert record.body == packed
            assert record.content(DecodeLimits()).data == b"text " * 1000

    asyncio.run(scenario())


def test_chunked_bodies_are_archived_in_their_chunks_and_read_without(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            body = b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: here\r\n\r\n"
            web.answers("/k", head + body)
            result = await running.fetch(web.url("/k"))
            assert running.record(result).body == b"hello world"
            assert result.size == 11
            with warc_file(running).open("rb") as file:
                (block,) = [
                    record.raw_stream.read()
                    for record in ArchiveIterator(file, no_record_parse=True)
                    if record.rec_type == "response"
                ]
            assert block == head + body

    asyncio.run(scenario())


def test_connections_are_used_again(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            for number in range(5):
                await running.fetch(web.url(f"/{number}"))
            assert web.connections == 1

    asyncio.run(scenario())


def test_a_host_that_moved_is_asked_at_its_new_address(tmp_path):
    async def scenario():
        async with web_server() as first, running_spider(tmp_path) as running:
            async with web_server(host="127.0.0.2") as _:
                pass
            server = await asyncio.start_server(first._serve, "127.0.0.2", first.port)
            await running.fetch(first.url("/1"), ip="127.0.0.1")
            await running.fetch(first.url("/2"), ip="127.0.0.2")
            assert first.connections == 2
            server.close()

    asyncio.run(scenario())


@pytest.mark.skipif(not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists(), reason="no IPv6 here")
@pytest.mark.parametrize("host", ["a.test", "[::1]"])
def test_ipv6_addresses_are_asked_too(tmp_path, host):
    async def scenario():
        async with web_server(host="::1") as web, running_spider(tmp_path) as running:
            result = await running.fetch(web.url("/", host), ip="::1")
            assert result.status == 200

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("header", "milliseconds"),
    [(b"120", 120_000), (b"99999999999", 30 * 86_400_000), (b"soon", 0), (b"-5", 0), (b"", 0)],
)
def test_retry_after_is_read(tmp_path, header, milliseconds):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/", ok(b"", b"Retry-After: " + header, status=b"429 Too Many Requests"))
            result = await running.fetch(web.url("/"))
            assert (result.status, result.error, result.retry_after) == (429, "", milliseconds)

    asyncio.run(scenario())


def test_robots_bodies_go_into_the_result_decoded_and_cut(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            long = b"User-agent: *\nDisallow: /x\n" + b"# filler\n" * 100_000
            web.answers("/robots.txt", ok(gzip.compress(long), b"Content-Encoding: gzip"))
            doc_id = running.links.robots(web.url("/robots.txt"))
            url_server = await running.connect()
            url_server.ask(f"r {doc_id} 127.0.0.1 {web.url('/robots.txt')}")
            await url_server.until_done("r")
            kept = running.links.mgmt.robots([web.url("")])[web.url("")]
            assert (kept.status, kept.body) == (200, long[: 500 * 1024 + 1])

    asyncio.run(scenario())


CLOSED = b"User-agent: *\nDisallow: /\n" + b"# filler\n" * 100
BROKEN = {
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n" + b"#" * 16 + b"\r\n", 0),
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n#" + b"#" * 16, 0),
    "gzip": (ok(gzip.compress(CLOSED)[:-20], b"Content-Encoding: gzip"), 200),
    "plain text under the name of gzip": (ok(CLOSED, b"Content-Encoding: gzip"), 200),
    "an unknown encoding": (ok(CLOSED, b"Content-Encoding: strange"), 200),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_robots_txt_that_breaks_off_or_cannot_be_decoded_is_an_error_without_a_body(tmp_path, kind):
    answer, status = BROKEN[kind]

    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/robots.txt", answer, close=True)
            doc_id = running.links.robots(web.url("/robots.txt"))
            url_server = await running.connect()
            url_server.ask(f"r {doc_id} 127.0.0.1 {web.url('/robots.txt')}")
            await url_server.until_done("r")
            result = running.links.result(doc_id)
            assert result.error in ("network", "bad_http", "bad_encoding")
            assert result.status in (0, status)
            assert running.links.mgmt.robots([web.url("")])[web.url("")].body == b""

    asyncio.run(scenario())


def test_a_robots_txt_that_is_too_long_is_read_as_far_as_it_counts(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            web.answers("/robots.txt", ok(b"x" * 600_000))
            doc_id = running.links.robots(web.url("/robots.txt"))
            url_server = await running.connect()
            url_server.ask(f"r {doc_id} 127.0.0.1 {web.url('/robots.txt')}")
            await url_server.until_done("r")
            result = running.links.result(doc_id)
            assert (result.error, running.record(result).truncated) == ("", "length")
            assert len(running.links.mgmt.robots([web.url("")])[web.url("")].body) == 500 * 1024 + 1

    asyncio.run(scenario())


def with_site(running, web, **settings):
    """The host is where the DNS found it: here."""
    running.links.mgmt.set_sites([Site(name=f"a.test:{web.port}", settings=SiteSettings(**settings))])
    running.links.mgmt.save_addresses([Address(f"a.test:{web.port}", "127.0.0.1", "127.0.0.1", 10**15)])


def test_site_headers_and_passwords_are_sent_but_not_archived(tmp_path):
    async def scenario(settings, is_archived):
        home = tmp_path / str(is_archived)
        async with web_server() as web, running_spider(home, settings) as running:
            with_site(running, web, headers={"X-Key": "s3cret", "Accept": "text/plain"}, auth="me:hidden")
            await running.fetch(web.url("/"))
            assert b"\r\nX-Key: s3cret\r\n" in web.requests[0]
            assert b"\r\nAuthorization: Basic bWU6aGlkZGVu\r\n" in web.requests[0]
            assert web.requests[0].count(b"Accept:") == 1
            archived = gzip.decompress(warc_file(running).read_bytes())
            assert (b"s3cret" in archived, b"bWU6aGlkZGVu" in archived) == (is_archived, is_archived)
            assert (web.requests[0] in archived) == is_archived

    asyncio.run(scenario(fast_settings(), False))
    asyncio.run(scenario(fast_settings(spider__archive_credentials=True), True))


@pytest.mark.parametrize(
    "settings",
    [
        {"headers": {"Host": "b.test"}},
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"X Y": "a"}},
        {"auth": "nocolon"},
        {"proxy": "ftp://x"},
    ],
)
def test_site_settings_that_cannot_be_used_are_an_error_of_their_own(tmp_path, settings):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            with_site(running, web, **settings)
            result = await running.fetch(web.url("/"))
            assert (result.error, web.requests) == ("bad_site", [])

    asyncio.run(scenario())


@pytest.mark.parametrize("settings", [{"auth": "me:hidden"}, {"headers": {"X-Key": "s3cret"}}])
@pytest.mark.parametrize("known", ["127.0.0.2", "", None])
def test_credentials_go_to_the_looked_up_address_alone(tmp_path, settings, known):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            name = f"a.test:{web.port}"
            running.links.mgmt.set_sites([Site(name=name, settings=SiteSettings(**settings))])
            if known is not None:
                running.links.mgmt.save_addresses([Address(name, known, known, 10**15)])
            result = await running.fetch(web.url("/"))
            assert (result.error, result.position, web.connections) == ("wrong_address", None, 0)
            assert FetchError.of(result.error).fault is Fault.OURS

    asyncio.run(scenario())


def test_a_site_without_credentials_is_fetched_wherever_the_order_says(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path) as running:
            with_site(running, web, verify=False)
            running.links.mgmt.save_addresses([Address(f"a.test:{web.port}", "127.0.0.2", "127.0.0.2", 10**15)])
            assert (await running.fetch(web.url("/"))).error == ""

    asyncio.run(scenario())


def test_a_site_is_asked_through_its_proxy(tmp_path):
    async def scenario():
        async with web_server() as proxy, running_spider(tmp_path) as running:
            running.links.mgmt.set_sites(
                [Site(name="intranet.test", settings=SiteSettings(proxy=f"http://127.0.0.1:{proxy.port}", auth="a:b"))]
            )
            proxy.answers("http://intranet.test/x", ok(b"through the proxy"))
            result = await running.fetch("http://intranet.test/x", ip="192.0.2.1")
            assert running.record(result).body == b"through the proxy"
            assert result.error == ""

    asyncio.run(scenario())


def test_what_a_proxy_says_of_its_tunnel_is_not_the_response(tmp_path):
    authority = Authority(tmp_path)

    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        async with web_server(authority.server("a.test")) as web, running_spider(tmp_path, settings) as running:
            async with tunnel(b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n", web.port) as proxy:
                with_site(running, web, proxy=proxy)
                web.answers("/x", ok(b"not here", b"X-Server: 1", status=b"404 Not Found"))
                result = await running.fetch(web.url("/x"))
            record = running.record(result)
            assert (result.status, record.status, record.body) == (404, 404, b"not here")
            assert (record.head.get("x-server"), record.head.get("x-proxy")) == ("1", "")

    asyncio.run(scenario())
