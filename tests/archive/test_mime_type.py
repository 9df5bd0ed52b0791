"""Content types as browsers read them: the examples of the Fetch standard, and what servers send."""

from __future__ import annotations

import pytest

from weft.archive.http_message import parse_head
from weft.archive.mime_type import extract


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("text/html", "text/html"),
        ("TEXT/HTML; Charset=UTF-8", "text/html; charset=UTF-8"),
        ("text/html, text/html; charset=utf-8", "text/html; charset=utf-8"),
        ("text/html; charset=utf-8, text/html", "text/html; charset=utf-8"),
        ("text/plain;charset=gbk, text/html", "text/html"),
        ("text/html;charset=gbk;a=b, text/html;x=y", "text/html; charset=gbk"),
        ("text/html;charset=gbk;a=b, text/html;x=y;charset=big5", "text/html; charset=big5"),
        ("text/html;x=y, cannot-parse", "text/html"),
        ("text/html, */*", "text/html"),
        ("text/html, ", "text/html"),
        ("*/*", ""),
        ('text/html;", ", text/plain', "text/plain"),
        ('text/html;", text/plain', "text/html"),
        ('text/html;charset="utf-8"', "text/html; charset=utf-8"),
        ('text/html;charset="a\\"b"', 'text/html; charset=a"b'),
        ('text/html;charset="gbk', "text/html; charset=gbk"),
        ("text/html; x; charset=gbk", "text/html; charset=gbk"),
        ("text/html;charset=a;charset=b", "text/html; charset=a"),
        ("text/html;charset=;charset=b", "text/html; charset=b"),
        ('text/html;charset="";charset=GBK', "text/html"),
        ('text/html;charset=" ";charset=GBK', "text/html; charset= "),
        ('text/html;charset="', "text/html"),
        ('text/html;charset=big5, text/html;charset=""', "text/html"),
        ('text/html;charset="", text/html', "text/html"),
        ('text/html;charset="", text/html;charset=gbk', "text/html; charset=gbk"),
        ("text/html charset=utf-8", ""),
        ("html", ""),
        ("/", ""),
        ("", ""),
    ],
)
def test_the_type_and_charset_that_count(given: str, expected: str) -> None:
    assert extract(given) == expected


def test_several_header_lines_are_one_list() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gbk\r\nContent-Type: text/html\r\n\r\n")
    assert head.content_type == "text/html; charset=gbk"


@pytest.mark.parametrize("given", ['"' * 50_000, '\\"' * 50_000, "text/html" + ";" * 50_000, "a/b," * 50_000])
def test_a_hostile_type_is_read_in_no_time(given: str) -> None:
    assert len(extract(given)) < 20
