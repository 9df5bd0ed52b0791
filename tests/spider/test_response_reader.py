"""What is told of a response, as a function of the response."""

from __future__ import annotations

import gzip
import re

import pytest

from weft.archive.body_decoding import DecodeLimits
from weft.archive.warc_records import render, sha1
from weft.mgmt.values import Details, DocId, LinkKind
from weft.model.fetch_error import FetchError
from weft.spider.fetching import WITH_HEAD, Response
from weft.spider.request_builder import RequestBuilder
from weft.spider.response_reader import LONGEST_WAIT, ResponseReader

NOW = 1_770_000_000_000
REQUESTS = RequestBuilder("weft/1", 10 << 20, 500 << 10)
READER = ResponseReader(DecodeLimits(), 500 << 10)


def judged(*headers: str, status: int = 200, body: bytes = b"", url: str = "http://a.test/d/p"):
    details = Details(DocId(7), LinkKind.PAGE, url, claim=3)
    head = "\r\n".join([f"HTTP/1.1 {status} X", *headers, "", ""]).encode("latin-1")
    return READER.read(details, REQUESTS.build("192.0.2.1", details), Response(head, body, None), NOW - 5, NOW)


def test_a_result_names_its_link_and_claim():
    result = judged("Content-Type: text/html", 'ETag: W/"x"', "Last-Modified: yesterday", body=b"abc").result
    assert (result.doc_id, result.claim, result.started, result.ended) == (7, 3, NOW - 5, NOW)
    assert (result.status, result.error, result.size) == (200, "", 3)
    assert (result.content_type, result.etag, result.last_modified) == ("text/html", 'W/"x"', "yesterday")


def test_the_payload_digest_is_that_of_the_body_without_its_chunks():
    chunked = judged("Transfer-Encoding: chunked", body=b"3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: 1\r\n\r\n").exchange
    plain = judged(body=b"abcde").exchange
    assert chunked.payload_digest == sha1(b"abcde")
    assert plain.payload_digest == ""
    digests = [re.search(rb"WARC-Payload-Digest: (.*)\r", unpacked(render(one))) for one in (chunked, plain)]
    assert {found[1] for found in digests if found} == {b"sha1:" + sha1(b"abcde").encode()}


def test_a_gzip_body_keeps_its_content_coding_in_the_digest():
    packed = gzip.compress(b"abcde")
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    found = judged("Transfer-Encoding: chunked", "Content-Encoding: gzip", body=sent).exchange
    assert found.payload_digest == sha1(packed)


def unpacked(rendered):
    return gzip.decompress(b"".join(rendered.members[rendered.main]))


@pytest.mark.parametrize(
    ("given", "milliseconds"),
    [
        ("5", 5000),
        ("0", 0),
        ("Mon, 02 Feb 2026 02:41:00 GMT", 60_000),
        ("Monday, 02-Feb-26 02:41:00 GMT", 60_000),
        ("Mon, 02 Feb 2020 02:40:00 GMT", 0),
        ("Mon, 02 Feb 2099 02:40:00 GMT", LONGEST_WAIT),
        ("1e9", 0),
        ("9" * 12, LONGEST_WAIT),
        ("9" * 400, 0),
        ("Mon, 99 Feb 2026 99:99:99 GMT", 0),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(given, milliseconds):
    assert judged(f"Retry-After: {given}", status=503).result.retry_after == milliseconds


def test_a_date_to_wait_for_is_compared_with_the_clock_of_the_server():
    wait, date = "Retry-After: Mon, 02 Feb 2026 01:41:00 GMT", "Date: Mon, 02 Feb 2026 01:40:30 GMT"
    assert judged(wait, date, status=503).result.retry_after == 30_000
    assert judged(wait, "Date: soon", status=503).result.retry_after == 0


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ("/x", "http://a.test/x"),
        ("x?y#z", "http://a.test/d/x?y#z"),
        ("//b.test", "http://b.test/"),
        ("https://B.test:443/%7e", "https://b.test/%7e"),
        ("http://[", ""),
        ("/caf\u00c3\u00a9", "http://a.test/caf%C3%A9"),
        ("/caf\u00e9", "http://a.test/caf%C3%A9"),
        ("", ""),
    ],
)
def test_a_location_is_made_whole(given, location):
    assert judged(f"Location: {given}", status=301).result.location == location


def test_only_a_redirect_has_a_location():
    assert judged("Location: /x", status=200).result.location == ""


def test_fields_that_nobody_can_use_are_left_out():
    assert judged("ETag: " + "x" * 3000).result.etag == ""


@pytest.mark.parametrize("error", [error for error in FetchError if error not in WITH_HEAD])
def test_without_a_response_there_is_nothing_to_archive(error):
    details = Details(DocId(7), LinkKind.PAGE, "http://a.test/", claim=3)
    response = Response(b"", b"", error)
    fetched = READER.read(details, REQUESTS.build("192.0.2.1", details), response, NOW, NOW)
    assert (fetched.exchange, fetched.result.error, fetched.result.status) == (None, error.value, 0)
