"""Exchanges for the archive's tests."""

from __future__ import annotations

from typing import Any

from weft.archive.warc_records import Exchange

MOMENT = 1_770_000_000_123
"""2026-02-02T02:40:00.123Z"""


def exchange(url: str = "http://a.test/", body: bytes = b"hello", status: int = 200, **facts: Any) -> Exchange:
    headers = facts.pop("headers", ())
    lines = [b"HTTP/1.1 %d X" % status, b"Content-Type: text/html; charset=utf-8", *headers, b"", b""]
    given = {
        "url": url,
        "ip": "192.0.2.1",
        "started": MOMENT,
        "request": b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
        "head": b"\r\n".join(lines),
        "body": body,
        "status": status,
        "content_type": "text/html; charset=utf-8",
        **facts,
    }
    return Exchange(**given)
