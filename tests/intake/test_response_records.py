"""What a record of a response does: the table of outcomes, bodies in every encoding, wishes about robots."""

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from support import warcs
from support.suites import suite_file
from weft.config.sections import LimitsSettings
from weft.intake.record_heads import ArchiveRecord
from weft.intake.response_records import RecordReader
from weft.intake.skip_reasons import PageRefused, SkipReason
from weft.linkindex.loaded import LoadedPage
from weft.linkindex.records import Doc, decode_page, pack_doc, unpack_doc
from weft.reading.http_reader import HttpReader
from weft.reading.settings import IMPORT, ReadingSettings

AT = 1_769_860_800_000
NOW = 5
BODY = b"<!doctype html><title>One</title><p>Words</p><a href='/x'>to x</a><a href='http://b.com/#f' rel='Author'>B</a>"


def read(body, uri="https://a.com/page", kind="response", date=warcs.DATE, media="", is_cut=False, max_body=1 << 20):
    settings = ReadingSettings(("sid",), 2048, LimitsSettings(), max_body, "weft")
    responses = RecordReader(HttpReader(settings, IMPORT), NOW)
    return responses.read(ArchiveRecord(kind, uri, date, media, is_cut, body))


def refused(*arguments, **options):
    with pytest.raises(PageRefused) as refusal:
        read(*arguments, **options)
    assert "\n" not in str(refusal.value)
    return refusal.value


def outlinks(page):
    return [(link.url, link.anchor, link.rel) for link in decode_page(page.cur).outlinks]


def test_a_page_is_loaded_with_its_time_links_and_text():
    page = read(warcs.http(BODY))
    assert (page.uri, page.version.fetched, page.is_gone) == (b"com.a/page", AT, False)
    assert outlinks(page) == [("https://a.com/x", "to x", ""), ("http://b.com/", "B", "author")]
    doc = unpack_doc(page.doc)
    assert (doc.title, decode_page(page.cur).title) == ("One", "One")
    assert doc.text.startswith("Words")


def test_links_are_read_against_the_base_of_the_page():
    body = b"<base href='https://base.com/folder/'><a href=x>1</a><a href='/y'>2</a>"
    assert [url for url, _, _ in outlinks(read(warcs.http(body)))] == [
        "https://base.com/folder/x",
        "https://base.com/y",
    ]


OUTCOMES = [
    ("200 OK", "", warcs.HTML, "page"),
    ("203 Other", "", "Application/XHTML+XML", "page"),
    ("200 OK", "", "", "page"),
    ("200 OK", "", "text/plain", "gone"),
    ("200 OK", "", "image/png", "gone"),
    ("204 No Content", "", "application/json", "gone"),
    ("206 Partial Content", "", warcs.HTML, "status 206"),
    ("301 Moved", "Location: /other\r\n", warcs.HTML, "gone"),
    ("302 Found", "Location: mailto:somebody\r\n", warcs.HTML, "gone"),
    ("303 See Other", "Location: http://a.com/page?sid=1#top\r\n", warcs.HTML, "redirect to itself"),
    ("307 Temporary", "", warcs.HTML, "status 307"),
    ("308 Permanent", "location: https://b.com/\r\n", "", "gone"),
    ("300 Choices", "Location: /other\r\n", warcs.HTML, "status 300"),
    ("304 Not Modified", "", "", "status 304"),
    ("404 Not Found", "", warcs.HTML, "gone"),
    ("410 Gone", "", "", "gone"),
    ("403 Forbidden", "", warcs.HTML, "status 403"),
    ("500 Oh", "", warcs.HTML, "status 500"),
    ("999 What", "", warcs.HTML, "status 999"),
]


@pytest.mark.parametrize(("status", "headers", "content_type", "outcome"), OUTCOMES)
def test_an_outcome_does_what_the_table_says(status, headers, content_type, outcome):
    found = read(warcs.http(BODY, status, content_type, headers))
    told = found if isinstance(found, str) else "gone" if found.is_gone else "page"
    assert told == outcome
    if isinstance(found, LoadedPage):
        assert (found.uri, found.version.fetched) == (b"com.a/page", AT)


@pytest.mark.parametrize(
    ("body", "is_page"),
    [
        (b"<!DOCTYPE html>x", True),
        (b"\xef\xbb\xbf \n<HTML >", True),
        (b"<!-- hello --><p>", True),
        (b"<ahref>", False),
        (b"%PDF-1.4", False),
        (b"{}", False),
        (b"", False),
    ],
)
def test_without_a_content_type_the_bytes_decide(body, is_page):
    assert read(warcs.http(body, content_type="")).is_gone is not is_page


def test_wishes_about_robots_are_honoured():
    meta = b"<meta name=robots content='noindex, nofollow'>" + BODY
    page = read(warcs.http(meta))
    hidden = Doc(status=200, type="text/html", bytes=len(meta), noindex=True, nofollow=True)
    assert (page.doc, decode_page(page.cur).title) == (pack_doc(hidden), "")
    assert outlinks(page) == [("https://a.com/x", "to x", "nofollow"), ("http://b.com/", "B", "author nofollow")]
    for header in ("noindex", "weft: noindex", "otherbot: nofollow\r\nX-Robots-Tag: noindex"):
        page = read(warcs.http(BODY, headers=f"X-Robots-Tag: {header}\r\n"))
        assert page.doc == pack_doc(Doc(status=200, type="text/html", bytes=len(BODY), noindex=True))
        assert outlinks(page)[0][2] == ""
    assert read(warcs.http(BODY, headers="X-Robots-Tag: otherbot: noindex\r\n")).doc


def test_a_resource_is_a_page_without_a_response():
    assert outlinks(read(BODY, kind="resource", media=warcs.HTML))[0][0] == "https://a.com/x"
    assert read(b"\x89PNG", kind="resource", media="image/png").is_gone
    assert read(b"", uri="metadata://gnu.org/wget.log", kind="resource") == "resource of another scheme"
    assert read(b"", uri="dns:a.com") == "response of another scheme"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"uri": ""}, SkipReason.URL),
        ({"uri": "https://" + "a" * 3000}, SkipReason.URL),
        ({"uri": "http://[::"}, SkipReason.URL),
        ({"date": "yesterday"}, SkipReason.TIME),
        ({"date": "1969-12-31T23:59:59Z"}, SkipReason.TIME),
    ],
)
def test_a_record_that_names_no_page_or_time_is_refused(options, reason):
    assert refused(warcs.http(BODY), **options).reason is reason


def test_a_page_without_a_date_has_the_time_of_the_import():
    assert read(warcs.http(BODY), date="").version.fetched == NOW


@pytest.mark.parametrize(
    "body", [b"", b"GET / HTTP/1.1\r\n\r\n", b"<html>", b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000]
)
def test_what_is_no_http_response_is_refused(body):
    assert refused(body).reason is SkipReason.RESPONSE


def chunked(data):
    parts = [data[at : at + 50] for at in range(0, len(data), 50)]
    return b"".join(b"%x;name=value\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nTrailer: x\r\n\r\n"


def bare_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODINGS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "deflate": zlib.compress,
    "Deflate": bare_deflate,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
    "identity": bytes,
    "nonsense": bytes,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_body_is_decoded(encoding, is_chunked):
    body = ENCODINGS[encoding](BODY)
    headers = f"Content-Encoding: {encoding}\r\n"
    if is_chunked:
        body, headers = chunked(body), headers + "Transfer-Encoding: chunked\r\n"
    assert read(warcs.http(body, headers=headers)).cur == read(warcs.http(BODY)).cur


@pytest.mark.parametrize(
    "headers", ["Content-Encoding: br\r\n", "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"]
)
def test_a_body_that_was_archived_decoded_is_taken_as_it_is(headers):
    assert read(warcs.http(BODY, headers=headers)).cur == read(warcs.http(BODY)).cur


CONTINUE, HINTS = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n"


@pytest.mark.parametrize("interim", [CONTINUE, HINTS, CONTINUE + HINTS, b"HTTP/1.0 102\n\n" + CONTINUE, CONTINUE * 100])
def test_interim_heads_before_the_final_response_are_passed_over(interim):
    assert read(interim + warcs.http(BODY)) == read(warcs.http(BODY))
    assert read(interim + warcs.http(b"", status="404 Not Found")).is_gone
    assert revisit(interim + warcs.http(b"", status="404 Not Found")).is_gone
    assert read(interim + warcs.http(b""), is_cut=True) == "truncated to nothing"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (CONTINUE, "status 100"),
        (HINTS[:-2], "status 103"),
        (CONTINUE + b"HTT", "status 100"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n" + warcs.http(BODY), "status 101"),
        (CONTINUE * 101 + warcs.http(BODY), "status 100"),
    ],
)
def test_interim_heads_without_a_final_response_say_nothing_of_the_page(body, told):
    assert read(body) == told
    assert read(body, is_cut=True) == told


def test_a_body_that_looks_like_an_interim_head_stays_a_body():
    quoted = warcs.http(CONTINUE + warcs.http(BODY), content_type="text/plain")
    assert unpack_doc(read(quoted).doc).bytes == len(CONTINUE + warcs.http(BODY))


def test_interim_heads_count_as_part_of_the_head():
    hints = b"HTTP/1.1 103 Early Hints\r\n" + b"Link: </x>\r\n" * 5_000 + b"\r\n"
    assert refused(hints * 3 + warcs.http(BODY)).reason is SkipReason.RESPONSE


def test_a_body_cut_off_is_refused_unless_its_record_says_so():
    cut = warcs.http(gzip.compress(BODY * 50)[:-20], headers="Content-Encoding: gzip\r\n")
    assert refused(cut).reason is SkipReason.ENCODING
    assert "ends too early" in str(refused(cut))
    assert outlinks(read(cut, is_cut=True))[0][0] == "https://a.com/x"


def test_a_record_truncated_to_nothing_says_nothing_of_its_page():
    assert read(warcs.http(b""), is_cut=True) == "truncated to nothing"
    assert read(warcs.http(b"", content_type="application/pdf"), is_cut=True) == "truncated to nothing"
    assert read(warcs.http(b"", status="404 Not Found"), is_cut=True).is_gone
    assert not read(warcs.http(b"")).is_gone


def revisit(body=b"", uri="https://a.com/page", refers_to="", refers_to_date="2026-01-30T12:00:00Z", date=warcs.DATE):
    settings = ReadingSettings(("sid",), 2048, LimitsSettings(), 1 << 20, "weft")
    record = ArchiveRecord("revisit", uri, date, "", False, body, "", refers_to, refers_to_date)
    return RecordReader(HttpReader(settings, IMPORT), NOW).read(record)


@pytest.mark.parametrize("body", [b"", warcs.http(b""), warcs.http(b"", status="304 Not Modified")])
@pytest.mark.parametrize("refers_to", ["", "https://a.com/page", "http://a.com/page?sid=1"])
def test_a_revisit_says_since_when_its_page_is_the_same(body, refers_to):
    found = revisit(body, refers_to=refers_to)
    assert (found.uri, found.version.fetched, found.same_since) == (b"com.a/page", AT, AT - 86_400_000)
    assert not found.is_gone


@pytest.mark.parametrize("facts", [{"refers_to_date": ""}, {"date": ""}, {"refers_to": "https://b.com/page"}])
def test_a_revisit_of_another_page_or_of_who_knows_what_says_nothing(facts):
    assert revisit(**facts) == "revisit"


def test_a_revisit_of_what_is_no_page_is_read_by_its_header():
    assert revisit(warcs.http(b"", status="404 Not Found")).is_gone
    assert revisit(warcs.http(b"", status="301 Moved", headers="Location: /other\r\n")).is_gone
    assert revisit(warcs.http(b"", status="503 Busy")) == "status 503"


def test_a_response_that_its_crawl_refused_is_no_page():
    record = ArchiveRecord("response", "https://a.com/", warcs.DATE, "", True, warcs.http(BODY), "too_large")
    settings = ReadingSettings(("sid",), 2048, LimitsSettings(), 1 << 20, "weft")
    assert RecordReader(HttpReader(settings, IMPORT), NOW).read(record) == "refused: too_large"


def test_bodies_that_are_too_large_or_packed_too_often_are_refused():
    for body, headers in [(bytes(2 << 20), ""), (gzip.compress(bytes(2 << 20)), "Content-Encoding: gzip\r\n")]:
        assert refused(warcs.http(body, headers=headers)).reason in (SkipReason.TOO_LARGE, SkipReason.BOMB)
    thrice = gzip.compress(gzip.compress(gzip.compress(BODY)))
    assert refused(warcs.http(thrice, headers="Content-Encoding: gzip, gzip, gzip\r\n")).reason is SkipReason.ENCODING


@pytest.mark.parametrize("name", ["br", "deflate", "gzip", "zstd"])
def test_published_bombs_are_refused(name):
    body = suite_file(f"bodies/bombs/bomb-{name}.bin").read_bytes()
    found = refused(warcs.http(body, headers=f"Content-Encoding: {name}\r\n"), max_body=10 << 20)
    assert found.reason in (SkipReason.BOMB, SkipReason.TOO_LARGE)


def test_a_picture_is_not_decoded():
    assert read(warcs.http(b"not gzip", content_type="image/png", headers="Content-Encoding: gzip\r\n")).is_gone
