"""Encodings are found as browsers find them, and no label ever breaks a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.suites import suite_file
from weft.html import parse_page

# The encoding is written by a script of the page, and weft runs none.
NEEDS_SCRIPTS = {"scripted/tests1.dat"}


def published(name: str) -> list[tuple[bytes, str]]:
    """The cases of a file: the bytes of a page and the name of its encoding."""
    parts = suite_file(f"html/encoding/{name}").read_bytes().split(b"#data\n")[1:]
    cases = [part.partition(b"\n#encoding\n") for part in parts]
    return [(page, label.split()[0].decode().lower()) for page, _, label in cases]


@pytest.mark.parametrize(("name", "count"), [("tests1.dat", 59), ("tests2.dat", 22), ("test-yahoo-jp.dat", 1)])
def test_published_cases(name, count):
    cases = published(name)
    assert len(cases) == count
    wrong = [(page[:80], label, found) for page, label in cases if (found := parse_page(page).charset.lower()) != label]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(NEEDS_SCRIPTS))
def test_what_needs_scripts_is_read_without(name):
    assert [parse_page(page).charset for page, _ in published(name)] == ["windows-1252"]


def test_an_undeclared_legacy_text_is_recognised():
    body = suite_file("html/encoding/chardet/test_big5.txt").read_bytes()
    assert parse_page(body).charset == "Big5"


@pytest.mark.parametrize(
    ("body", "content_type", "charset", "text"),
    [
        (b"\xef\xbb\xbf<meta charset=latin1>\xc3\xa9", "text/html; charset=koi8-r", "UTF-8", "é"),
        (b"\xff\xfea\x00b\x00", "text/html; charset=utf-8", "UTF-16LE", "ab"),
        (b"<meta charset=utf-8>\xe9", "text/html; charset=ISO-8859-1", "windows-1252", "é"),
        (b"<meta charset=latin1>\xe9", 'text/html;Charset="UTF-8"', "UTF-8", "\ufffd"),
        (b"<meta charset=koi8-r>\xc1", "text/html", "KOI8-R", "а"),
        (b"caf\xc3\xa9", "", "UTF-8", "café"),
        (b"caf\xe9", "", "windows-1252", "café"),
        (b"<meta charset=koi8-r>\xc1", "text/html; charset=nonsense", "KOI8-R", "а"),
        (b"<meta charset=koi8-r>\xc1", "text/html; charset=;charset=GBK", "KOI8-R", "а"),
        (b"<meta charset=koi8-r>\xc1", "text/html; charset=gbk;x", "KOI8-R", "а"),
        (b"<meta charset=nonsense>caf\xe9", "text/html; charset=", "windows-1252", "café"),
        (b"<meta charset=utf-16>\xc3\xa9", "", "UTF-8", "é"),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><p>\xb1', "", "ISO-8859-2", "ą"),
        (b'<?xml version="1.0" encoding="ISO-8859-2"?><p>\xc4\x85', "", "UTF-8", "ą"),
        (b'<?xml version="1.0" encoding="nonsense"?><p>caf\xe9', "", "windows-1252", "café"),
        (b'<?xml version="1.0" encoding="UTF-16"?><p>caf\xe9', "", "windows-1252", "café"),
        (b"plain", "", "windows-1252", "plain"),
        (b"", "", "windows-1252", ""),
    ],
)
def test_what_decides(body, content_type, charset, text):
    page = parse_page(body, content_type)
    assert (page.charset, page.text) == (charset, text)


@given(st.binary(max_size=60), st.text(max_size=40))
def test_a_header_without_a_known_label_is_ignored(body, rest):
    assert parse_page(body, f"text/html; charset=no-{rest}") == parse_page(body)
    assert parse_page(body, rest.replace("=", "")) == parse_page(body)


LABELS = st.sampled_from(["utf-8", "latin1", "koi8-r", "utf-16", "gbk", "replacement", "nonsense"]) | st.text(
    max_size=40
)


@given(st.binary(max_size=60), LABELS)
def test_a_page_reads_the_same_in_the_encoding_that_was_found(body, label):
    marked = f'<meta charset="{label}">'.encode("utf-8", "replace") + body
    page = parse_page(marked)
    assert parse_page(marked, f"text/html; charset={page.charset}") == page
