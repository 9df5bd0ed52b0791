"""Bodies: decoded once and late, and where weft's own archive and those of others differ."""

from __future__ import annotations

import gzip

import pytest

from weft.archive.body_decoding import BodyRefused
from weft.archive.http_message import HttpHead
from weft.archive.record_reader import ArchivedResponse
from weft.config.sections import LimitsSettings
from weft.model.fetch_error import FetchError
from weft.model.original import Original
from weft.reading.body_types import BODY_TYPES
from weft.reading.outcomes import BodyKind
from weft.reading.response_body import Body, foreign_body, own_body
from weft.reading.settings import ReadingSettings

SETTINGS = ReadingSettings((), 2048, LimitsSettings(), 1 << 20, "weft")
URL = "https://a.com/"
HTML = b"<!doctype html><title>A</title>" + bytes(range(65, 91)) * 40
GZIP = (("content-encoding", "gzip"),)
CHUNKED = (("transfer-encoding", "chunked"),)


def own(raw: bytes, fields: tuple[tuple[str, str], ...] = ()) -> Body:
    head = HttpHead(200, fields)
    response = ArchivedResponse(URL, "", head, raw, "", is_revisit=False, original=Original("", URL, "", ""))
    return own_body(SETTINGS, URL, head.get("content-type"), response)


def foreign(raw: bytes, fields: tuple[tuple[str, str], ...] = (), *, is_cut: bool = False) -> Body:
    return foreign_body(SETTINGS, URL, HttpHead(200, fields), raw, is_cut=is_cut)


def refusal(body: Body) -> FetchError:
    with pytest.raises(BodyRefused) as refused:
        _ = body.data
    return refused.value.reason


def test_both_take_the_encoding_off() -> None:
    packed = gzip.compress(HTML)
    assert own(packed, GZIP).data == foreign(packed, GZIP).data == HTML


def test_only_other_archives_may_hold_a_body_decoded_under_its_old_header() -> None:
    assert foreign(HTML, GZIP).data == HTML
    assert refusal(own(HTML, GZIP)) is FetchError.BAD_ENCODING
    assert refusal(foreign(b"neither gzip nor HTML", GZIP)) is FetchError.BAD_ENCODING


def test_an_encoding_that_ends_too_early_is_taken_from_the_own_archive_or_if_the_record_admits_it() -> None:
    cut = gzip.compress(HTML)[:-4]
    assert own(cut, GZIP).data == foreign(cut, GZIP, is_cut=True).data == HTML
    assert refusal(foreign(cut, GZIP)) is FetchError.BAD_ENCODING


def test_only_other_archives_leave_the_transfer_coding_to_be_taken_off() -> None:
    chunked = b"5\r\nhello\r\n0\r\n\r\n"
    assert foreign(chunked, CHUNKED).data == b"hello"
    assert foreign(b"hello", CHUNKED).data == b"hello"
    assert own(chunked, CHUNKED).data == chunked


def test_both_have_the_same_caps() -> None:
    large, bomb = bytes(2 << 20), gzip.compress(bytes(2 << 20))
    for body in (own(large), foreign(large)):
        assert refusal(body) is FetchError.TOO_LARGE
    for body in (own(bomb, GZIP), foreign(bomb, GZIP)):
        assert refusal(body) is FetchError.TOO_LARGE


def test_a_body_is_decoded_once_and_only_if_its_type_is_not_given() -> None:
    decoded: list[bytes] = []

    def decode(_: bytes) -> bytes:
        decoded.append(HTML)
        return HTML

    typed = Body(URL, HttpHead(200, (("content-type", "text/html"),)), "text/html", bytes, decode)
    assert typed.recognise(BODY_TYPES) is not None
    assert decoded == []
    untyped = Body(URL, HttpHead(200, ()), "", bytes, decode)
    found = untyped.recognise(BODY_TYPES)
    assert found is not None
    assert found.kind is BodyKind.PAGE
    found.read(SETTINGS)
    assert decoded == [HTML]


@pytest.mark.parametrize(
    ("raw", "content_type", "kind"),
    [
        (b"<!DOCTYPE html>x", "", BodyKind.PAGE),
        (b"\xef\xbb\xbf \n<HTML >", "", BodyKind.PAGE),
        (b"<!-- hello --><p>", "", BodyKind.PAGE),
        (b"%PDF", "Text/HTML; charset=x", BodyKind.PAGE),
        (b"", "application/xhtml+xml", BodyKind.PAGE),
        (b"<ahref>", "", None),
        (b"<p>", "text/plain", None),
        (b"", "", None),
        (b"<urlset></urlset>", "", BodyKind.LISTING),
        (b"<feed></feed>", "text/xml", BodyKind.LISTING),
        (b"<urlset></urlset>", "text/html", BodyKind.PAGE),
        (b"<urlset></urlset>", "image/png", None),
    ],
)
def test_the_header_gives_the_type_or_else_the_first_bytes(
    raw: bytes, content_type: str, kind: BodyKind | None
) -> None:
    found = own(raw, (("content-type", content_type),)).recognise(BODY_TYPES)
    assert (found.kind if found else None) is kind
