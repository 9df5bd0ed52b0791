"""WAT records: the same references as the responses they were made from."""

import json
from html import unescape
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest

from support import warcs
from support.suites import suite_file
from weft.config.sections import LimitsSettings
from weft.intake.import_source import expand
from weft.intake.record_heads import ArchiveRecord
from weft.intake.response_records import RecordReader
from weft.intake.skip_reasons import PageRefused, SkipReason
from weft.intake.source_records import SourceRecords
from weft.intake.wat_records import read_wat
from weft.linkindex.records import Doc, decode_page, unpack_doc
from weft.reading.http_reader import HttpReader
from weft.reading.settings import IMPORT, ReadingSettings

SETTINGS = ReadingSettings((), 2048, LimitsSettings(), 10 << 20, "weft")
RESPONSES = RecordReader(HttpReader(SETTINGS, IMPORT), 0)


def read(envelope, date=warcs.DATE):
    block = envelope if isinstance(envelope, bytes) else json.dumps({"Envelope": envelope}).encode()
    return read_wat(RESPONSES, ArchiveRecord("metadata", "https://a.com/", date, "application/json", False, block))


def envelope(links=(), head=None, status="200", headers=None, kind="response"):
    page = {"Head": head or {}, "Links": list(links)}
    message = {
        "Response-Message": {"Status": status},
        "Headers": {"Content-Type": "text/html"} if headers is None else headers,
        "HTML-Metadata": page,
    }
    header = {"WARC-Type": kind, "WARC-Target-URI": "https://a.com/", "WARC-Date": warcs.DATE}
    return {"WARC-Header-Metadata": header, "Payload-Metadata": {"HTTP-Response-Metadata": message}}


def outlinks(page):
    return [(link.url, link.anchor, link.rel) for link in decode_page(page.cur).outlinks]


PAGES = {
    "https://a.com/one": warcs.page(1, ["/x", "https://b.com/?a=1&amp;b=2", "#top", "mailto:x", "/x"]),
    "https://a.com/base": b"<base href='/folder/'><title>A &amp; B</title><a href=x rel=nofollow> some \n words </a>",
    "https://a.com/empty": b"",
    "https://a.com/map": b"<map><area href=/region alt='Not an A'></map><frameset><frame src=/f></frameset>",
}


@pytest.mark.parametrize("uri", PAGES)
def test_a_wat_made_of_an_archive_gives_the_same_references_and_anchors(uri):
    archived = RESPONSES.read(ArchiveRecord("response", uri, warcs.DATE, "", False, warcs.http(PAGES[uri])))
    record = warcs.wat_of(uri, PAGES[uri])
    told = read(record.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n\r\n"))
    assert outlinks(told) == outlinks(archived)
    assert told.outlinks == archived.outlinks
    assert (told.uri, told.version.fetched) == (archived.uri, archived.version.fetched)
    assert decode_page(told.cur).title == decode_page(archived.cur).title


def test_the_kinds_of_links_are_those_of_a_page():
    links = [
        {"path": "A@/href", "url": "/a", "text": "A", "rel": "NoFollow"},
        {"path": "AREA@/href", "url": "/area", "alt": "Area"},
        {"path": "FRAME@/src", "url": "/frame", "title": "Frame"},
        {"path": "IFRAME@/src", "url": "/iframe"},
        {"path": "IMG@/src", "url": "/img", "alt": "x"},
        {"path": "FORM@/action", "url": "/form"},
        {"path": "LINK@/href", "url": "/link"},
        {"path": "STYLE/#text", "href": "/style"},
        {"path": ["A@/href"], "url": "/odd"},
        {"path": "A@/href", "url": 7},
        {"path": "A@/href"},
    ]
    assert outlinks(read(envelope(links))) == [
        ("https://a.com/a", "A", "nofollow"),
        ("https://a.com/area", "Area", ""),
        ("https://a.com/frame", "Frame", ""),
    ]


def test_entities_in_old_files_are_read_and_in_new_ones_left():
    links = [{"path": "A@/href", "url": "/?a=1&amp;b=2", "text": "R&amp;D &#8217;"}]
    head = {"Title": "A &gt; B"}
    old, new = read(envelope(links, head), "2015-04-18T03:30:14Z"), read(envelope(links, head), "2024-05-31T01:16:45Z")
    assert outlinks(old) == [("https://a.com/?a=1&b=2", "R&D ’", "")]
    assert decode_page(old.cur).title == "A > B"
    assert outlinks(new) == [("https://a.com/?a=1&amp;b=2", "R&amp;D &#8217;", "")]


def test_a_reference_to_a_character_may_have_any_number_of_digits():
    digits = "9" * 5000
    text = f"a&#{digits};b&#x{digits};c&#{'0' * 50}65;d&#{digits}"
    links = [{"path": "A@/href", "url": "/", "text": text}]
    assert outlinks(read(envelope(links), "2015-04-18T03:30:14Z")) == [
        ("https://a.com/", "a\ufffdb\ufffdcAd\ufffd", "")
    ]


def test_robots_description_and_header_count():
    metas = [{"name": "description", "content": "  Some  words "}, {"property": "og:description", "content": "other"}]
    page = read(envelope(head={"Title": "T", "Metas": metas}))
    assert (unpack_doc(page.doc).title, unpack_doc(page.doc).description) == ("T", "Some words")
    hidden = Doc(status=200, type="text/html", noindex=True)
    page = read(envelope(head={"Title": "T", "Metas": [{"name": "Robots", "content": "noindex"}]}))
    assert unpack_doc(page.doc) == hidden
    headers = {"content-type": "text/html", "X-Robots-Tag": ["noarchive", "noindex"]}
    assert unpack_doc(read(envelope(head={"Title": "T"}, headers=headers)).doc) == hidden


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ({"status": "404"}, "gone"),
        ({"status": "301", "headers": {"Location": "https://b.com/"}}, "gone"),
        ({"status": "503"}, "status 503"),
        ({"status": "what"}, "status 0"),
        ({"headers": {"Content-Type": "image/png"}}, "gone"),
        ({"headers": {}}, "page"),
        ({"kind": "request"}, "metadata of request"),
        ({"kind": 7}, "metadata of 7"),
    ],
)
def test_outcomes_are_those_of_a_response(options, outcome):
    found = read(envelope(**options))
    assert (found if isinstance(found, str) else "gone" if found.is_gone else "page") == outcome


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (b"", SkipReason.JSON),
        (b"{", SkipReason.JSON),
        (b'{"x": ' + b"[" * 100_000, SkipReason.JSON),
        (b"[]", SkipReason.FIELD),
        (b'{"Envelope": 3}', SkipReason.FIELD),
        (b'{"Envelope": {"Payload-Metadata": {"HTTP-Response-Metadata": {"Headers": []}}}}', SkipReason.FIELD),
    ],
)
def test_what_is_no_wat_record_is_refused(block, reason):
    with pytest.raises(PageRefused) as refused:
        read(block)
    assert refused.value.reason is reason


def test_metadata_that_is_json_but_no_wat_says_nothing():
    assert read(b'{"other": 1}') == "metadata"
    assert read(b'{"Envelope": null}') == "metadata"


def test_the_published_file_has_the_links_that_are_told_of_it():
    (source,) = expand([str(suite_file("warc/webindex/wat-18.warc"))])
    records = [entry.record for entry in SourceRecords(source, 16 << 20) if entry.record]
    assert len(records) == 17
    found = [read_wat(RESPONSES, record) for record in records]
    pages = [page for page in found if not isinstance(page, str)]
    assert [page.is_gone for page in pages] == [True, False, False, False, False]
    links = [link for record in records for link in links_in(json.loads(record.body))]
    assert (len(links), sum(link["path"] == "A@/href" for link in links)) == (600, 458)
    assert sum(len(page.outlinks.targets) for page in pages) == 306
    assert sum(map(len, map(targets_in, map(json.loads, (record.body for record in records))))) == 306


def targets_in(wat):
    """Where the links of a page lead, by another library; the scheme and an empty path make no difference."""
    base = wat["Envelope"]["WARC-Header-Metadata"].get("WARC-Target-URI", "")
    urls = [
        urldefrag(urljoin(base, unescape(link["url"]).strip())).url
        for link in links_in(wat)
        if link["path"] == "A@/href"
    ]
    parts = [urlsplit(url) for url in urls]
    return {(part.netloc, part.path or "/", part.query) for part in parts if part.scheme in ("http", "https")}


def links_in(wat):
    response = wat["Envelope"]["Payload-Metadata"].get("HTTP-Response-Metadata", {})
    return response.get("HTML-Metadata", {}).get("Links", [])
