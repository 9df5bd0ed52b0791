"""The archived response of a page, out of real WARC files."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.built_world import RULES, World
from support.record_node import RecordNode
from weft.answers import capture
from weft.answers.home_index import HomeIndex
from weft.archive.warc_records import Exchange
from weft.config import Settings
from weft.dispatcher.link_records import LinkPhase, LinkRecord
from weft.dispatcher.link_round import LinkRound
from weft.errors import NotKnown, WeftError
from weft.index.record_access import NodeSettings, RecordSource
from weft.mgmt.values import WarcPosition
from weft.store.api import Batch

PAGE = "<title>A</title><p>Some words é</p><a href=/b>see b</a>"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def unused() -> Any:
    raise AssertionError("a capture needs neither control plane nor search")


def asked(world: World, archive: Path | None = None, nodes: NodeSettings | None = None) -> HomeIndex:
    place = archive or world.place / "warc"
    return HomeIndex(world.store, RULES, Settings, unused, unused, lambda: RecordSource(place, nodes))


def archive(world: World, url: str, head: str, body: bytes, **about: Any) -> None:
    """A crawl knows a page by this response."""
    exchange = Exchange(
        url=url, ip="192.0.2.1", started=world.clock.now(), request=b"GET / HTTP/1.1\r\n\r\n",
        head=f"HTTP/1.1 200 OK\r\n{head}\r\n".encode("latin-1"), body=body, status=200, **about,
    )  # fmt: skip
    position = WarcPosition("spider", *world.archive.store([exchange])[0])
    page = RULES.identify(url)
    links = LinkRound(world.store, world.store.last_seq + 1)
    links.read([(b"com.a", page.uri.encode())])
    links.put(b"com.a", page.uri.encode(), LinkRecord(url=url, phase=LinkPhase.DUE, position=position))
    world.store.write(Batch(links.cells()), world.store.last_seq + 1)


def test_a_page_is_shown_with_status_headers_and_body(world: World) -> None:
    world.crawl("https://a.com/b?c=1", PAGE)
    found = asked(world).capture("a.com/b?c=1")
    assert (found.url, found.request_target, found.status) == ("https://a.com/b?c=1", "/b?c=1", 200)
    assert found.headers == [("content-type", "text/html; charset=utf-8")]
    assert (found.content_type, found.body, found.size) == ("text/html; charset=utf-8", PAGE, len(PAGE.encode()))
    assert (found.truncated, found.incomplete, found.problem, found.node) == (False, "", None, "spider")
    assert found.fetched == "2026-02-02T02:40:01.000Z"


def test_after_a_304_or_a_failure_the_response_is_that_which_the_index_has(world: World) -> None:
    world.crawl("https://a.com/", PAGE, etag='"1"')
    first = asked(world).capture("a.com")
    for status in (304, 500):
        world.again()
        world.crawl("https://a.com/", "oh", status=status)
        assert asked(world).capture("a.com") == first


def test_the_same_payload_again_is_shown_out_of_the_first_record(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    first = asked(world).capture("a.com")
    world.again()
    world.crawl("https://a.com/", PAGE)
    world.clock.advance(1)
    again = asked(world).capture("a.com")
    assert (again.body, again.status) == (PAGE, 200)
    assert again.offset > first.offset
    assert again.fetched > first.fetched


def test_a_redirect_a_404_and_an_error_have_a_response_too(world: World) -> None:
    world.crawl("https://a.com/old", "moved", status=301, location="/new")
    world.crawl("https://a.com/gone", "gone", status=404)
    world.crawl("https://a.com/failing", "oh", status=500)
    index = asked(world)
    assert [index.capture(f"a.com/{name}").status for name in ("old", "gone", "failing")] == [301, 404, 500]
    assert dict(index.capture("a.com/old").headers)["location"] == "/new"


@pytest.mark.parametrize(
    ("head", "body", "shown"),
    [
        ("Content-Type: text/html; charset=iso-8859-1\r\n", b"caf\xe9", "café"),
        ("Content-Type: text/html\r\n", b"<meta charset=windows-1251>\xcf\xf0", "<meta charset=windows-1251>Пр"),
        ("Content-Type: text/html\r\n", "\ufeff<p>é".encode(), "<p>é"),
        ("Content-Type: text/html\r\n", ("<p>é" * 3000).encode(), "<p>é" * 3000),
        ("Content-Type: text/html; charset=none-such\r\n", "é".encode(), "é"),
        ("Content-Type: application/json\r\n", '{"a": "é"}'.encode(), '{"a": "é"}'),
        ("Content-Type: text/plain\r\n", b"\xff\xfeodd", "\ufffd\ufffdodd"),
        ("Content-Type: image/svg+xml\r\n", b"<svg/>", "<svg/>"),
        ("Content-Type: image/png\r\n", b"\x89PNG", None),
        ("", b"plain words", "plain words"),
        ("", b"\x00\x01", None),
        ("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", gzip.compress(b"packed", mtime=0), "packed"),
        ("Content-Type: text/html\r\nContent-Encoding: gzip\r\n", gzip.compress(b"packed", mtime=0)[:-9], "packed"),
    ],
)
def test_a_body_is_shown_if_it_is_text(world: World, head: str, body: bytes, shown: str | None) -> None:
    archive(world, "https://a.com/x", head, body)
    found = asked(world).capture("a.com/x")
    assert (found.body, found.size, found.problem) == (shown, len(body), None)


def test_a_body_that_cannot_be_decoded_is_left_out_with_the_reason(world: World) -> None:
    archive(world, "https://a.com/x", "Content-Type: text/html\r\nContent-Encoding: br\r\n", b"no brotli at all")
    found = asked(world).capture("a.com/x")
    assert found.body is None
    assert found.problem is not None
    assert "br is damaged" in found.problem


def test_of_a_large_body_the_beginning_is_shown(world: World) -> None:
    text = "word " * 100_000
    archive(world, "https://a.com/x", "Content-Type: text/plain\r\n", text.encode(), truncated="length")
    found = asked(world).capture("a.com/x")
    assert (found.body, found.truncated) == (text[: capture.MOST_BODY], True)
    assert (found.size, found.incomplete) == (len(text), "length")


def test_what_no_crawl_has_fetched_has_no_response(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    world.crawl("https://a.com/silent", error="timeout")
    index = asked(world)
    with pytest.raises(NotKnown, match=r"no crawl has fetched https://x\.com/"):
        index.capture("x.com")
    for url in ("https://a.com/b", "https://a.com/silent"):
        with pytest.raises(NotKnown, match=f"no response of {url} is archived"):
            index.capture(url)


def test_damaged_and_missing_files_are_told_in_a_sentence(world: World) -> None:
    world.crawl("https://a.com/", PAGE)
    (file,) = (world.place / "warc").glob("*.warc.gz")
    whole = file.read_bytes()
    offset = asked(world).capture("a.com").offset
    for broken in (whole[: offset + 20], whole[:offset] + b"\0" * (len(whole) - offset), b""):
        file.write_bytes(broken)
        with pytest.raises(WeftError, match=r"archive .*: (ends before|the record at .* is damaged)"):
            asked(world).capture("a.com")
    file.unlink()
    with pytest.raises(WeftError, match="cannot be read: No such file"):
        asked(world).capture("a.com")


def test_a_record_of_another_page_is_not_shown(world: World) -> None:
    archive(world, "https://a.com/x", "", b"x")
    position = world.record("https://a.com/x")
    assert position is not None
    links = LinkRound(world.store, world.store.last_seq + 1)
    links.read([(b"com.a", b"com.a/y")])
    links.put(b"com.a", b"com.a/y", position)
    world.store.write(Batch(links.cells()), world.store.last_seq + 1)
    with pytest.raises(WeftError, match=r"is of https://a\.com/x, not of https://a\.com/y"):
        asked(world).capture("a.com/y")


def test_records_of_another_node_are_asked_for_there(world: World, tmp_path: Path) -> None:
    with RecordNode(world.place / "warc", "secret") as node:
        world.node = node.address
        world.crawl("https://a.com/", PAGE)
        index = asked(world, tmp_path / "here", NodeSettings("secret"))
        assert index.capture("a.com").body == PAGE
        node.stop()
        with pytest.raises(NotKnown, match=f"of https://a.com/ is on node {node.address}, which cannot be asked"):
            index.capture("a.com")
