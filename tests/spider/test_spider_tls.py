"""Certificates: verified by default, by a site's own authority, or not at all where the user said so."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from support.certificates import Authority
from support.running_spider import fast_settings, running_spider
from support.webservers import web_server
from weft.model.site import Site, SiteSettings


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


async def fetched(tmp_path, context, settings=None, host="a.test", **site):
    async with web_server(context) as web, running_spider(tmp_path, settings) as running:
        if site:
            running.links.mgmt.set_sites([Site(name=f"{host}:{web.port}", settings=SiteSettings(**site))])
        return await running.fetch(web.url("/", host))


def test_a_certificate_of_a_trusted_authority_is_accepted_by_its_name(tmp_path, authority):
    settings = fast_settings(spider__ca_file=str(authority.file))
    result = asyncio.run(fetched(tmp_path, authority.server("a.test"), settings))
    assert (result.error, result.status) == ("", 200)


def test_the_server_is_told_the_name_that_is_asked_for(tmp_path, authority):
    context, told = authority.server("a.test"), []
    context.sni_callback = lambda _socket, name, _context: told.append(name)
    asyncio.run(fetched(tmp_path, context, fast_settings(spider__ca_file=str(authority.file))))
    assert told == ["a.test"]


@pytest.mark.parametrize(
    ("names", "days", "is_trusted", "error"),
    [
        (("a.test",), 2, False, "tls_authority"),
        (("b.test",), 2, True, "tls_name"),
        (("a.test",), -2, True, "tls_expired"),
    ],
    ids=["unknown authority", "other name", "expired"],
)
def test_other_certificates_are_refused_and_the_error_says_why(tmp_path, authority, names, days, is_trusted, error):
    settings = fast_settings(spider__ca_file=str(authority.file)) if is_trusted else None
    result = asyncio.run(fetched(tmp_path, authority.server(*names, days=days), settings))
    assert (result.error, result.status, result.position) == (error, 0, None)


@pytest.mark.parametrize("names", [(), ("http://a.test/",)], ids=["no other name", "other names that are no hosts"])
def test_a_common_name_names_no_host(tmp_path, authority, names):
    """As browsers see it."""
    context = authority.server(*names, common="a.test")

    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        async with web_server(context) as web, running_spider(tmp_path, settings) as running:
            for path in ("/1", "/2"):
                result = await running.fetch(web.url(path, "a.test"))
                assert (result.error, result.status, result.position) == ("tls_name", 0, None)
            assert web.requests == []

    asyncio.run(scenario())


def test_every_new_connection_to_a_host_shows_its_certificate_again(tmp_path, authority):
    async def scenario():
        settings = fast_settings(spider__ca_file=str(authority.file))
        async with web_server(authority.server("a.test")) as web, running_spider(tmp_path, settings) as running:
            for path in ("/1", "/2", "/3"):
                web.answers(path, b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                assert (await running.fetch(web.url(path, "a.test"))).error == ""

    asyncio.run(scenario())


def test_a_common_name_beside_names_of_hosts_does_not_count(tmp_path, authority):
    settings = fast_settings(spider__ca_file=str(authority.file))
    for names, error in ((("b.test",), "tls_name"), (("a.test", "b.test"), "")):
        result = asyncio.run(fetched(tmp_path, authority.server(*names, common="a.test"), settings))
        assert result.error == error


def test_a_site_may_go_unverified_by_its_common_name_too(tmp_path, authority):
    result = asyncio.run(fetched(tmp_path, authority.server(common="a.test"), verify=False))
    assert result.error == ""


def test_a_site_may_have_its_own_authority(tmp_path, authority, caplog):
    caplog.set_level(logging.INFO)
    result = asyncio.run(fetched(tmp_path, authority.server("a.test"), ca=str(authority.file)))
    assert result.error == ""
    assert "the site's own authority" in caplog.text


def test_a_site_may_go_unverified_and_the_log_says_so(tmp_path, authority, caplog):
    result = asyncio.run(fetched(tmp_path, authority.server("b.test", days=-2), verify=False))
    assert result.error == ""
    assert "certificate not verified" in caplog.text


def test_an_unverified_site_does_not_make_others_so(tmp_path, authority):
    async def scenario():
        context = authority.server("a.test", "b.test")
        async with web_server(context) as web, running_spider(tmp_path) as running:
            running.links.mgmt.set_sites([Site(name=f"a.test:{web.port}", settings=SiteSettings(verify=False))])
            assert (await running.fetch(web.url("/1", "a.test"))).error == ""
            assert (await running.fetch(web.url("/2", "b.test"))).error == "tls_authority"
            assert (await running.fetch(web.url("/3", "a.test"))).error == ""

    asyncio.run(scenario())


def test_a_file_of_certificates_that_is_missing_is_a_tls_error(tmp_path, authority):
    result = asyncio.run(fetched(tmp_path, authority.server("a.test"), ca=str(tmp_path / "none.pem")))
    assert result.error == "tls"


def test_a_handshake_that_never_ends_times_out(tmp_path):
    async def scenario():
        with socket.create_server(("127.0.0.1", 0)) as silent:
            async with running_spider(tmp_path, fast_settings(limits__connect_seconds=0.5)) as running:
                result = await running.fetch(f"https://a.test:{silent.getsockname()[1]}/")
                assert result.error == "connect"

    asyncio.run(scenario())


def test_plain_http_where_tls_is_expected_is_a_tls_error(tmp_path):
    async def plain(reader, writer):
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async def scenario():
        server = await asyncio.start_server(plain, "127.0.0.1", 0)
        async with server, running_spider(tmp_path) as running:
            result = await running.fetch(f"https://a.test:{server.sockets[0].getsockname()[1]}/")
            assert result.error == "tls"

    asyncio.run(scenario())
