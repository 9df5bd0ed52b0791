"""Making archives: records of WARC and ARC, packed in every way."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from typing import Any

import zstandard

from weft.html import parse_page

HTML = "text/html; charset=utf-8"
DATE = "2026-01-31T12:00:00Z"


def record(
    kind: str, uri: str, block: bytes, *, date: str = DATE, length: int | None = None, fields: str = ""
) -> bytes:
    """A record of WARC 1.1; `length` is what it says of itself, if that is not the truth."""
    media = "application/http; msgtype=response" if kind == "response" else "application/octet-stream"
    typed = f"Content-Type: {media}\r\n"
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:0>\r\nWARC-Target-URI: {uri}\r\n"
        f"WARC-Date: {date}\r\n{fields or typed}"
        f"Content-Length: {len(block) if length is None else length}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def http(body: bytes, status: str = "200 OK", content_type: str = HTML, headers: str = "") -> bytes:
    typed = f"Content-Type: {content_type}\r\n" if content_type else ""
    return f"HTTP/1.1 {status}\r\n{typed}{headers}\r\n".encode() + body


def response(uri: str, body: bytes, **options: str) -> bytes:
    return record("response", uri, http(body, **options))


def page(number: int, links: Sequence[str] = ("/", "https://b.com/x")) -> bytes:
    anchors = "".join(f'<p><a href="{link}">to {link}</a></p>' for link in links)
    text = f"<!doctype html><title>Page {number}</title><h1>Heading</h1><p>Words of page {number}.</p>{anchors}"
    return text.encode()


def pages(count: int) -> list[bytes]:
    """Responses with links between them, each after its request."""
    made = []
    for number in range(count):
        uri = f"https://s{number % 7}.com/{number}"
        targets = [f"https://s{(number + step) % 7}.com/{(number * step) % count}" for step in range(1, 6)]
        made.append(record("request", uri, b"GET / HTTP/1.1\r\n\r\n"))
        made.append(response(uri, page(number, targets)))
    return made


def arc_record(uri: str, block: bytes, date: str = "20260131120000") -> bytes:
    return f"{uri} 127.0.0.1 {date} text/html {len(block)}\n".encode() + block + b"\n"


def arc(*records: bytes) -> list[bytes]:
    version = b"1 0 weft\nURL IP-address Archive-date Content-type Archive-length\n"
    return [arc_record("filedesc://test.arc", version), *records]


def zstd_with_dictionary(records: Sequence[bytes]) -> bytes:
    """As archives of Archive Team are: the dictionary first, in a frame that decoders skip."""
    samples: list[Any] = [record[at : at + 64] for record in records for at in range(0, len(record) - 64, 64)] * 8
    dictionary = zstandard.train_dictionary(4096, samples)
    packer = zstandard.ZstdCompressor(dict_data=dictionary)
    raw = dictionary.as_bytes()
    first = b"\x5d\x2a\x4d\x18" + len(raw).to_bytes(4, "little") + raw
    return first + b"".join(packer.compress(record) for record in records)


PACKINGS: dict[str, Callable[[Sequence[bytes]], bytes]] = {
    "plain": b"".join,
    "gzip, a member per record": lambda records: b"".join(gzip.compress(one) for one in records),
    "gzip, one member": lambda records: gzip.compress(b"".join(records)),
    "gzip, members across records": lambda records: b"".join(
        gzip.compress(b"".join(records)[at : at + 1000]) for at in range(0, sum(map(len, records)), 1000)
    ),
    "zstd, a frame per record": lambda records: b"".join(zstandard.compress(one) for one in records),
    "zstd, one frame": lambda records: zstandard.compress(b"".join(records)),
    "zstd with a dictionary": zstd_with_dictionary,
}


def wat_of(uri: str, body: bytes, *, date: str = DATE, status: str = "200", content_type: str = HTML) -> bytes:
    """The record in which a WAT file tells of a response: what our own parser finds, as Common Crawl writes it."""
    parsed = parse_page(body, content_type)
    links = [{"path": "IMG@/src", "url": "/picture.png", "alt": "not a link"}]
    links += [{"path": "A@/href", "url": link.href, "text": link.anchor, "rel": link.rel} for link in parsed.links]
    head: dict[str, object] = {"Title": parsed.title, "Metas": [{"name": "description", "content": parsed.description}]}
    if parsed.base:
        head["Base"] = parsed.base
    message = {
        "Response-Message": {"Status": status, "Version": "HTTP/1.1", "Reason": "OK"},
        "Headers": {"Content-Type": content_type, "Set-Cookie": ["a=1", "b=2"]},
        "HTML-Metadata": {"Head": head, "Links": links},
    }
    header = {"WARC-Type": "response", "WARC-Target-URI": uri, "WARC-Date": date}
    envelope = {"WARC-Header-Metadata": header, "Payload-Metadata": {"HTTP-Response-Metadata": message}}
    block = json.dumps({"Container": {"Offset": "0"}, "Envelope": envelope}).encode()
    return record("metadata", uri, block, fields="Content-Type: application/json\r\n")
