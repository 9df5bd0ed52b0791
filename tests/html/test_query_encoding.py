"""Queries of pages in legacy encodings, and the encoders behind them."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import parse

from weft.html import parse_page
from weft.html.legacy_encoders import encoder_of
from weft.html.query_encoding import with_encoded_query
from weft.model.links import join_links
from weft.model.url import UrlRules

SINGLE_BYTE = [
    "IBM866",
    "ISO-8859-2",
    "ISO-8859-3",
    "ISO-8859-4",
    "ISO-8859-5",
    "ISO-8859-6",
    "ISO-8859-7",
    "ISO-8859-8",
    "ISO-8859-8-I",
    "ISO-8859-10",
    "ISO-8859-13",
    "ISO-8859-14",
    "ISO-8859-15",
    "ISO-8859-16",
    "KOI8-R",
    "KOI8-U",
    "macintosh",
    "windows-874",
    "windows-1250",
    "windows-1251",
    "windows-1252",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "x-mac-cyrillic",
    "x-user-defined",
]
MULTIBYTE = ["Big5", "EUC-JP", "EUC-KR", "GBK", "gb18030", "Shift_JIS"]
BASE = "https://a.com/list?x"


@pytest.mark.parametrize(
    ("charset", "query", "encoded"),
    [
        ("windows-1252", "é€", "%E9%80"),
        ("windows-1252", "日<é", "%26%2326085%3B%3C%E9"),
        ("windows-1251", "привет", "%EF%F0%E8%E2%E5%F2"),
        ("Shift_JIS", "日本表ｱ", "%93%FA%96{%95\\%B1"),
        ("Shift_JIS", "¥‾−", "\\~%81|"),
        ("EUC-JP", "日本ｱ", "%C6%FC%CB%DC%8E%B1"),
        ("ISO-2022-JP", "a日本b", "a%1B$BF|K\\%1B(Bb"),
        ("ISO-2022-JP", "¥a~ｱ", "%1B(J\\a%1B(B~%1B$B%%22%1B(B"),
        ("ISO-2022-JP", "日é", "%1B$BF|%1B(B%26%23233%3B"),
        ("GBK", "中文€", "%D6%D0%CE%C4%80"),
        ("gb18030", "中€é😀", "%D6%D0%A2%E3%A8%A6%949%FC6"),
        ("Big5", "中文十", "%A4%A4%A4%E5%A4Q"),
        ("EUC-KR", "한국", "%C7%D1%B1%B9"),
        ("x-user-defined", "\uf7e9é", "%E9%26%23233%3B"),
        *((charset, "日é", "日é") for charset in ("UTF-8", "UTF-16LE", "UTF-16BE", "replacement", "")),
    ],
)
def test_a_query_is_escaped_in_the_encoding_of_its_page(charset: str, query: str, encoded: str) -> None:
    assert with_encoded_query(f"/é?q={query}#é?é", charset) == f"/é?q={encoded}#é?é"


@pytest.mark.parametrize("href", ["/é", "/é#?é", "é?q=1#é", "?q=%E9&r='", ""])
def test_only_a_query_that_is_not_ascii_is_encoded(href: str) -> None:
    assert with_encoded_query(href, "windows-1252") == href


def test_line_breaks_in_a_query_are_dropped_as_the_url_parser_does() -> None:
    assert with_encoded_query("?日\n\t本", "ISO-2022-JP") == with_encoded_query("?日本", "ISO-2022-JP")


@pytest.mark.parametrize("label", ["iso-8859-1", "latin1", "ascii"])
def test_links_base_canonical_and_refresh_reach_joining_in_the_encoding_of_the_page(label: str) -> None:
    body = (
        f'<meta charset={label}><base href="/b?é"><link rel=canonical href="?c=é">'
        '<meta http-equiv=refresh content="5; url=/r?é"><a href="/é?q=é">x</a>'
    ).encode("latin-1")
    page = parse_page(body)
    assert (page.base, page.canonical, page.refresh and page.refresh.url) == ("/b?%E9", "?c=%E9", "/r?%E9")
    joined = join_links(UrlRules(), BASE, [link.href for link in page.links])
    assert joined.uris == ["com.a/%C3%A9?q=%E9"]


def decoded(encoded: bytes, charset: str) -> str:
    element = parse(b"<plaintext>" + encoded, encoding=charset).find("plaintext")
    assert element is not None
    return element.text


@given(st.sampled_from(SINGLE_BYTE + MULTIBYTE + ["ISO-2022-JP"]), st.text(min_size=1))
def test_what_is_encoded_is_read_back_as_it_was(charset: str, text: str) -> None:
    query = re.sub("[\\s\\0-\\x20#%&\\ufffd\\ud800-\\udfff\\x7f]|[\u00a5\u203e\u2212\uff61-\uff9f\ue5e5]", "", text)
    encoded = with_encoded_query("?" + query, charset)[1:]
    known = unquote_to_bytes(re.sub("%26%23([0-9]+)%3B", "", encoded))
    lost = {int(code) for code in re.findall("%26%23([0-9]+)%3B", encoded)}
    kept = "".join(character for character in query if ord(character) not in lost)
    # Some private characters are written as sequences that the standard reads as others by now.
    if "gb" not in charset.lower() or not any("\ue000" <= character <= "\uf8ff" for character in kept):
        assert decoded(known, charset) == kept


@pytest.mark.parametrize("charset", SINGLE_BYTE)
def test_every_byte_that_means_something_is_written_for_what_it_means(charset: str) -> None:
    encode = encoder_of(charset)
    for byte in range(0x80, 0x100):
        character = decoded(bytes([byte]), charset)
        assert character == "\ufffd" or encode(character) == bytes([byte])


def test_gb18030_writes_every_character_but_one() -> None:
    encode = encoder_of("gb18030")
    codes = [*range(0x80, 0xD800), *range(0xE000, 0x10000), 0x10000, 0x10FFFF]
    assert [code for code in codes if encode(chr(code)) is None] == [0xE5E5]
