"""What strangers send passes through parsers of Python's library in many places: none of them fails in a way that
nobody expects, and none takes a time that grows faster than what was sent."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import QueryParams
from starlette.requests import Request

from support.step_counting import steps
from weft.answers.paging import key_of_cursor
from weft.answers.typed_times import milliseconds_of
from weft.archive import mime_type
from weft.archive.http_message import HttpHead, parse_head, read_chunks
from weft.archive.surt import surt
from weft.errors import WeftError
from weft.html.directives import refresh_in, robots_in
from weft.intake.fetch_times import milliseconds_of_date
from weft.intake.record_heads import HeadRefused, head_of
from weft.intake.skip_reasons import PageRefused
from weft.intake.source_format import SourceFormat
from weft.intake.wat_records import plain_text
from weft.model.url import UrlRules
from weft.reading.listing_entries import lastmod_of, read_listing
from weft.reading.listing_kinds import ListingKind
from weft.robots.file import parse as robots
from weft.roles.http_protocol import HttpRequest
from weft.roles.listener import host_named, is_loopback
from weft.search.query_language import parse as query
from weft.spider.records_http import asked_position
from weft.spider.response_reader import retry_after
from weft.web.api import TopParams
from weft.web.changes import CHANGES
from weft.web.endpoint import read_body, read_params
from weft.web.forms import form_fields
from weft.web.rate_limit import network_of
from weft.web.visitors import cookie_in
from weft.wire import decode_reply, decode_request

SOURCE = Path(__file__).parents[2] / "src" / "weft"


def _form(text: str) -> object:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": text.encode("utf-8", "replace")}

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    return asyncio.run(form_fields(Request({"type": "http", "headers": headers}, receive)))


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _bytes(parse: Callable[[bytes], object]) -> Callable[[str], object]:
    return lambda text: parse(text.encode("utf-8", "replace"))


def _listing(kind: ListingKind, form: str) -> Callable[[str], object]:
    return lambda text: read_listing(form.replace("{}", text).encode("utf-8", "replace"), kind, 10)


PARSERS: dict[str, Callable[[str], object]] = {
    "a cookie": lambda text: cookie_in(f'x="{text}', "weft_1"),
    "cookies": lambda text: cookie_in(f"weft_1={text}", "weft_1"),
    "Host": lambda text: is_loopback(host_named(f"127.0.0.1{text}")),
    "an address in Host": lambda text: is_loopback(host_named(f"[::1{text}]")),
    "a client": network_of,
    "a form": _form,
    "parameters": lambda text: read_params(TopParams, QueryParams(f"limit=1&domain={text}").multi_items(), {}),
    "a body": _bytes(lambda data: read_body(CHANGES[0].body, data)),
    "a cursor": lambda text: key_of_cursor("x", text),
    "a time": lambda text: milliseconds_of(f"2026-01-31{text}", "since"),
    "an age": lambda text: milliseconds_of(f"{text}d", "since"),
    "a query": lambda text: query(text[:2048]),
    "a typed URL": UrlRules().identify_typed,
    "a record's place": lambda text: asked_position(HttpRequest("GET", f"/records?file=x&offset={text}")),
    "Retry-After": lambda text: retry_after(HttpHead(503, (("retry-after", text),)), 0),
    "a date of Retry-After": lambda text: retry_after(
        HttpHead(503, (("retry-after", f"1 Jan 2026 {text[:2048]}"),)), 0
    ),
    "Content-Type": lambda text: mime_type.extract(f"text/html; charset={text}"),
    "a head": _bytes(lambda data: parse_head(b"HTTP/1.1 200 " + data)),
    "chunks": _bytes(read_chunks),
    "robots.txt": _bytes(lambda data: robots(b"User-agent: *\nCrawl-delay: " + data)),
    "lastmod": _bytes(lastmod_of),
    "Refresh": refresh_in,
    "robots in a page": robots_in,
    "a WARC head": _bytes(lambda data: head_of(SourceFormat.WARC, b"WARC/1.0\r\nContent-Length: " + data)),
    "an ARC head": _bytes(lambda data: head_of(SourceFormat.ARC, b"http://a/ 1.1.1.1 2026 text/html " + data)),
    "a date of an archive": lambda text: milliseconds_of_date(f"2026-01-31T12:00:00.{text}"),
    "a text of a WAT file": plain_text,
    "a URL of an archive": lambda text: surt(f"https://a.com/{_valid(text)}?{_valid(text)}"),
    "a sitemap": _listing(ListingKind.PAGES, "<urlset><url><loc>https://a.com/{}</loc></url></urlset>"),
    "alternates": _listing(ListingKind.PAGES, '<urlset><url><xhtml:link rel="alternate" href="/{}"/></url></urlset>'),
    "a feed": _listing(ListingKind.ATOM, '<feed><entry><link href="{}"/></entry></feed>'),
    "another feed": _listing(ListingKind.RSS, "<rss><item><link>{}</link></item></rss>"),
    "a list": _listing(ListingKind.TEXT, "https://a.com/{}"),
    "an order": _bytes(decode_request),
    "a reply": _bytes(decode_reply),
}
# fmt: off
UNITS = [
    '\\"', '"', "'", ";", "=", ",", ", ", " ", "\t", "&", "&#", "&#9", "&a", "%", "%25", "a=%", "9", "1:", ".", ":",
    "[", "(", "@", "//", "/../", "a", "<", "-", "+", "=?x?q?", "\n", "\r\n ", "\x00", "\u0661", "\ud800",
]
# fmt: on
EXPECTED = (WeftError, PageRefused, HeadRefused)
"""What callers are told of, and catch."""
MODULES = {
    "base64": {"answers/paging.py", "spider/request_builder.py"},
    "email": {"spider/response_reader.py"},
    "html": {"intake/wat_records.py", "reading/listing_entries.py"},
    "http": {"search/server_connection.py"},
}
"""Where they are imported. A new place is one more line in PARSERS, or a reason why strangers' bytes do not get there:
answers of index servers come from nodes with our token. (`HTTPStatus` parses nothing, and may be anywhere.)"""
NOWHERE = {"cgi", "configparser", "http.cookies", "pickle", "plistlib", "quopri", "tarfile", "xml", "zipfile"}


def tried(parse: Callable[[str], object], text: str) -> None:
    with suppress(*EXPECTED):
        parse(text)


@pytest.mark.parametrize("name", PARSERS)
def test_bytes_of_a_stranger_are_read_or_refused_step_by_step(name: str) -> None:
    parse = PARSERS[name]
    for unit in UNITS:
        tried(parse, unit * 10)
        tried(parse, unit * (60_000 // len(unit)))
        few, many = (steps(partial(tried, parse, unit * size)) for size in (500, 2000))
        assert many < 6 * few + 2000, (name, unit, few, many)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_takes_a_time_that_grows_with_the_square(name: str) -> None:
    for unit in UNITS:
        short, long = (min(_seconds(PARSERS[name], unit * size) for _ in range(3)) for size in (7_500, 30_000))
        assert long < 10 * short + 0.1, (name, unit, short, long)


def _seconds(parse: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    tried(parse, text)
    return time.process_time() - began


def test_parsers_of_the_library_are_used_where_this_file_says() -> None:
    found: dict[str, set[str]] = {}
    for file in SOURCE.rglob("*.py"):
        name = file.relative_to(SOURCE).as_posix()
        text = file.read_text()
        assert "cookie_parser" not in text, f"{name}: it is Python's own"
        assert "request.cookies" not in text, name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module] if [alias.name for alias in node.names] != ["HTTPStatus"] else []
            else:
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in names:
                top = module.split(".")[0]
                assert not NOWHERE & {module, top}, (name, module)
                if top in MODULES and not name.startswith("demo/"):
                    found.setdefault(top, set()).add(name)
    assert found == MODULES
