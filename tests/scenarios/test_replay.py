"""What was crawled, and crawled again without a change, is replayed byte for byte by pywb and valid for jwarc."""

from __future__ import annotations

import json
import tomllib
import urllib.parse
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from support.archive_tools import jwarc_faults, replaying
from support.exchanges import MOMENT, exchange
from support.validating_web import Resource, ValidatingWeb, validating_web
from support.weft_command import weft
from support.whole_crawl import FINITE, served_for
from support.whole_crawl import crawl as crawl_whole
from weft.archive.archive_writer import ArchiveWriter
from weft.archive.record_reader import read_record
from weft.archive.warc_records import sha1
from weft.demo.web.definition.plan import WebPlan

ENCODINGS = "gzip, br, zstd"
LINKS = "".join(
    f'<a href="{path}">{path}</a>'
    for path in ("/chunked", "/gzip", "/both", "/list", "/file.pdf", "/sitemap.xml", "/plain", "/moved", "/gone")
)


def page(name: str) -> bytes:
    return f"<!doctype html><title>{name}</title><p>Words of {name} {'and more ' * 50}</p>".encode()


def site() -> dict[str, Resource]:
    sitemap = b"<urlset><url><loc>/plain</loc></url></urlset>"
    return {
        "/": Resource(f"<!doctype html><title>Start</title>{LINKS}".encode()),
        "/chunked": Resource(page("chunked"), is_chunked=True),
        "/gzip": Resource(page("gzip"), is_gzip=True),
        "/both": Resource(page("both"), is_gzip=True, is_chunked=True),
        "/list": Resource(page("list"), "text/html, text/html; charset=utf-8"),
        "/file.pdf": Resource(b"%PDF-1.4 \x00\xff" * 30_000, "application/pdf"),
        "/sitemap.xml": Resource(sitemap, "application/xml"),
        "/plain": Resource(page("plain"), has_etag=False),
    }


def crawl(place: Path, *arguments: str) -> None:
    done = weft("crawl", *arguments, "--home", "home", cwd=place)
    assert done.returncode in (0, 1), done.stderr


def revisits(archive: Path) -> list[dict[str, str]]:
    found = []
    for file in sorted(archive.glob("*.warc.gz")):
        with file.open("rb") as stream:
            found += [
                dict(record.rec_headers.headers)
                for record in ArchiveIterator(stream)
                if record.rec_type == "revisit" and record.http_headers.get_statuscode() == "304"
            ]
    return found


def test_a_recrawl_of_unchanged_pages_is_replayed_as_the_first_crawl(tmp_path: Path, pywb: Path, jwarc: Path) -> None:
    archive = tmp_path / "home/warc"
    with validating_web(site()) as web:
        web.make_home(tmp_path / "home")
        crawl(tmp_path, web.url())
        first = len(web.answered)
        assert set(web.statuses()) >= set(site())
        crawl(tmp_path, "--again", "0")
        again = web.statuses(first)
        unchanged = {path for path, resource in site().items() if resource.has_etag}
        assert {path: again[path] for path in site()} == {path: 304 if path in unchanged else 200 for path in site()}
        check_references(web, archive, unchanged)
        repeat(archive, web.url("/repeated"))
        with replaying(pywb, archive, tmp_path / "pywb") as replay:
            for path, resource in site().items():
                assert replay.latest(web.url(path)) == (200, resource.sent), path
            assert replay.latest(web.url("/repeated")) == (200, page("repeated"))
            assert replay.latest(web.url("/gone"))[0] == 404
    assert jwarc_faults(jwarc, *archive.glob("*.warc.gz")) == ""


def repeat(archive: Path, url: str) -> None:
    """Add a page that one spider fetched twice, in chunks: the second record is a revisit with the same payload."""
    body = page("repeated")
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    facts: dict[str, Any] = {"headers": (b"Transfer-Encoding: chunked",), "payload_digest": sha1(body)}
    writer = ArchiveWriter(archive)
    for moment in (MOMENT, MOMENT + 60_000):
        (position,) = writer.store([exchange(url, chunked, started=moment, **facts)])
    writer.close()
    assert read_record(archive, position).is_revisit


def check_references(web: ValidatingWeb, archive: Path, unchanged: set[str]) -> None:
    """Every 304 names the response that it stands for, which another process wrote."""
    captures = {}
    for file in archive.glob("*.warc.gz"):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    captures[record.rec_headers["WARC-Record-ID"]] = (
                        record.rec_headers["WARC-Target-URI"],
                        record.rec_headers["WARC-Date"],
                    )
    found = revisits(archive)
    assert {fields["WARC-Target-URI"] for fields in found} == {web.url(path) for path in unchanged}
    for fields in found:
        named = (fields["WARC-Refers-To-Target-URI"], fields["WARC-Refers-To-Date"])
        assert captures[fields["WARC-Refers-To"]] == named
        assert named[0] == fields["WARC-Target-URI"]


@pytest.mark.long
def test_a_whole_web_is_replayed_as_its_servers_send_it(tmp_path: Path, pywb: Path, jwarc: Path) -> None:
    archive = tmp_path / "home/warc"
    # A robots.txt that is too long is cut, and so no whole capture.
    profile = replace(FINITE, sessions=0.0, soft_404=0.0, robots_huge=0.0)
    with served_for(tmp_path, WebPlan(seed=11, hosts=12, pages=12, addresses=4, profile=profile)) as served:
        hosts = tomllib.loads(served.settings_text())["urlserver"]["static_hosts"]
        crawl_whole(tmp_path, served.url(0), "--scope", "any")
        crawl_whole(tmp_path, "--again", "0")
        pages = {capture["url"] for capture in captures(archive) if capture["status"] == "200"}
        assert len(pages) > 100
        assert len(revisits(archive)) > 50
        with replaying(pywb, archive, tmp_path / "pywb") as replay:
            different = [url for url in sorted(pages) if replay.latest(url) != (200, sent_now(url, hosts))]
    assert different == []
    assert jwarc_faults(jwarc, *archive.glob("*.warc.gz")) == ""


def captures(archive: Path) -> list[dict[str, str]]:
    lines = [line for index in archive.glob("*.cdxj") for line in index.read_text().splitlines()]
    return [json.loads(line.split(" ", 2)[2]) for line in lines]


def sent_now(url: str, hosts: dict[str, str]) -> bytes:
    """The body that the server sends for `url`, encoded as a spider gets it."""
    parts = urllib.parse.urlsplit(url)
    connection = HTTPConnection(hosts[str(parts.hostname)], parts.port or 80)
    target = urllib.parse.urlunsplit(("", "", parts.path, parts.query, ""))
    headers = {"Host": parts.netloc, "Accept-Encoding": ENCODINGS, "User-Agent": "weft"}
    with closing(connection):
        connection.request("GET", target, headers=headers)
        return connection.getresponse().read()
