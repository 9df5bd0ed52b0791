"""Texts with a form of their own: which are taken and which are not."""

from typing import Any

import pytest

from weft import __version__
from weft.config import KEYS, Settings, host_and_port, load, spiders, user_agent

TAKEN: dict[str, list[Any]] = {
    "store.url": [
        *("rocksdb:", "cassandra://a/k", "cassandra://a,b:9042,[::1]/weft_1", "cassandra://me:pw@a/k"),
        *("cassandra://a/k?datacenter=dc1", "cassandra://a/k?tls=/etc/ca.pem", "cassandra://a/k?datacenter=b&tls=ca"),
    ],
    "mgmt.url": [
        "sqlite:",
        "postgresql://",
        "postgresql://me:pw@host:5432/db?sslmode=require",
        "postgresql://me:p%2Fw%40%25@[::1],b:1/db",
        "postgresql:///db?user=a@b&host=/run/pg",
        "postgresql://h?user=a@b",
    ],
    "url.strip": ["sid", "utm_*", "asp.net_sessionid", "_ga", "é"],
    "urlserver.spider_host": ["10.0.0.1", "spider.example", "a:7071, b,[::1]", "[::1]:7071"],
    "urlserver.allow_net": ["10.0.0.0/8", "127.0.0.1", "fd00::/8", "::1"],
    "urlserver.static_hosts": [("wiki", "10.0.0.5"), ("a.b-c.example", "::1"), ("1.example", "127.0.0.1")],
    "spider.user_agent": ["weft", "weft/{version}", "My-Bot/1.0 (+{contact}; weft {version})", "bot and more"],
    "spider.contact": ["", "https://example.com/bot?a=1", "http://a", "me@example.com"],
    "spider.token": ["", "s3cret", "~!+/="],
    "web.listen": ["127.0.0.1:8765", "localhost:0", "[::1]:80", "0.0.0.0:65535"],
    "web.hosts": ["weft.example", "localhost", "10.0.0.5", "fd00::1"],
    "web.origins": ["https://app.example", "http://localhost:3000", "http://127.0.0.1:8080", "https://[::1]:3000"],
}
REFUSED: dict[str, list[Any]] = {
    "store.url": [
        *("", "rocksdb", "rocksdb:/data", "RocksDB:", "cassandra://", "cassandra://a", "cassandra://a/k-1"),
        *("cassandra://a/k?tls", "cassandra://a/k?tls=", "cassandra://a/k?ssl=ca", "cassandra://a/k?tls=a b"),
    ],
    "mgmt.url": [
        "",
        "sqlite",
        "sqlite:x",
        "postgres://a",
        "postgresql:a",
        "postgresql://a b",
        "postgresql://me:p/w@host/db",
        "postgresql://me:p@w@host/db",
        "postgresql://me:p%w@host/db",
        "postgresql://h/%",
    ],
    "url.strip": ["", "*", "a*b", "a b", "a=b", "a&b", "a**"],
    "urlserver.spider_host": ["", "a,", "a b", "a:99999", "::1", "[::::]", "http://a", "-a"],
    "urlserver.allow_net": ["", "10.0.0.1/8", "10", "localhost", "::/129"],
    "urlserver.static_hosts": [("Wiki", "10.0.0.5"), ("", "10.0.0.5"), ("wiki.", "10.0.0.5"), ("wiki", "other")],
    "spider.user_agent": ["", "weft/{verison}", "weft2/1", "weft/1\r\nX: y", "/1", "weft/é", "weft {", "(weft)"],
    "spider.contact": ["me", "a b@c", "https://a (b)", "me@a\n", "a@b@c", "ftp://a"],
    "spider.token": ["a b", "é", "a\n", "a\tb"],
    "web.listen": ["", "localhost", ":80", "a:65536", "a:b", "[::1]", "::1:80"],
    "web.hosts": ["", "*", "Weft.example", "weft.example:80", "http://weft.example", "a b", "[::1]", "a.example."],
    "web.origins": [
        *("", "*", "null", "app.example", "//app.example", "ftp://app.example", "https://", "https://:80"),
        *("https://App.example", "https://app.example/", "https://app.example/x", "https://u@app.example"),
        *("https://app.example:443", "http://app.example:080", "http://app.example:65536", "http://::1", "http://[::1"),
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TAKEN for value in TAKEN[name]])
def test_this_is_taken(name, value):
    assert KEYS[name].facts.allowed.holds(value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_this_is_refused(name, value):
    assert not KEYS[name].facts.allowed.holds(value)


def test_an_address_is_split_into_host_and_port():
    assert host_and_port("127.0.0.1:7080") == ("127.0.0.1", 7080)
    assert host_and_port("[::1]:0") == ("::1", 0)
    assert host_and_port("a", 5) == ("a", 5)


def test_spiders_without_a_port_get_the_common_one():
    assert spiders("10.0.0.7, 10.0.0.8:7071,[::1]", 7070) == (("10.0.0.7", 7070), ("10.0.0.8", 7071), ("::1", 7070))


def test_the_user_agent_carries_version_and_contact():
    spider = load(None, {}, ["spider.contact=https://example.com/bot"]).settings.spider
    assert user_agent(spider, __version__) == f"weft/{__version__} (+https://example.com/bot)"


def test_without_a_contact_the_user_agent_is_the_product_alone():
    assert user_agent(Settings().spider, "1.2") == "weft/1.2"


def test_a_contact_outside_parentheses_is_filled_in_as_well():
    spider = load(None, {}, ["spider.user_agent=bot/{version} {contact}"]).settings.spider
    assert user_agent(spider, "1.2") == "bot/1.2"
