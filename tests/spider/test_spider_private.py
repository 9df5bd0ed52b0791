"""Addresses that are not ours to ask are refused at the last moment, whatever led to them."""

from __future__ import annotations

import asyncio

import pytest

from support.running_spider import fast_settings, running_spider
from support.webservers import web_server

NOWHERE = fast_settings(urlserver__allow_net=())
SPELLINGS = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "100::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("ip", SPELLINGS)
def test_a_special_address_is_refused_before_anything_is_sent(tmp_path, ip):
    async def scenario():
        async with running_spider(tmp_path, NOWHERE) as running:
            result = await running.fetch("http://a.test:81/", ip=ip)
            assert (result.error, result.status, result.position) == ("private_address", 0, None)

    asyncio.run(scenario())


def test_an_address_literal_in_the_url_does_not_get_round_the_address_that_is_asked(tmp_path):
    async def scenario():
        async with web_server() as web, running_spider(tmp_path, NOWHERE) as running:
            url = web.url("/", "127.0.0.1")
            result = await running.fetch(url, ip="127.0.0.1")
            assert result.error == "private_address"
            assert web.connections == 0

    asyncio.run(scenario())


def test_allowed_networks_may_be_asked(tmp_path):
    async def scenario():
        settings = fast_settings(urlserver__allow_net=("127.0.0.1/32",))
        async with web_server() as web, running_spider(tmp_path, settings) as running:
            assert (await running.fetch(web.url("/1"))).error == ""
            assert (await running.fetch(web.url("/2"), ip="127.0.0.2")).error == "private_address"

    asyncio.run(scenario())
