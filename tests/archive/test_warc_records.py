"""What is written is WARC 1.1 to everybody who reads it, and what was fetched to the last byte."""

from __future__ import annotations

import gzip
import io
import json
import re
from random import Random

import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from support.exchanges import MOMENT, exchange
from weft.archive.archive_writer import ArchiveOptions, ArchiveWriter
from weft.archive.record_reader import read_record
from weft.archive.warc_records import LARGE
from weft.clock import ManualClock
from weft.model.original import Original


def written(directory, *exchanges, **options):
    """The one file that these exchanges make, finished, and their positions."""
    writer = ArchiveWriter(directory, ArchiveOptions(**options))
    positions = writer.store(exchanges)
    writer.close()
    (file,) = directory.glob("*.warc.gz")
    return file, positions


def records(file):
    with file.open("rb") as stream:
        return [
            (record.rec_type, dict(record.rec_headers.headers), record.raw_stream.read())
            for record in ArchiveIterator(stream, no_record_parse=True)
        ]


def test_a_file_holds_warcinfo_request_and_response(tmp_path):
    one = exchange()
    file, _ = written(tmp_path, one, user_agent="weft/9")
    info, request, response = records(file)
    assert [info[0], request[0], response[0]] == ["warcinfo", "request", "response"]
    assert b"http-header-user-agent: weft/9\r\n" in info[2]
    assert info[1]["WARC-Filename"] == file.name
    assert request[2] == one.request
    assert response[2] == one.head + one.body
    assert request[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    for kind, fields, _ in (request, response):
        assert fields["WARC-Date"] == "2026-02-02T02:40:00.123Z", kind
        assert fields["WARC-Target-URI"] == "http://a.test/"
        assert fields["WARC-IP-Address"] == "192.0.2.1"
    assert re.fullmatch(r"<urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}>", response[1]["WARC-Record-ID"])


def test_every_record_is_a_gzip_member_of_its_own_at_the_position_told(tmp_path):
    file, positions = written(tmp_path, *[exchange(f"http://a.test/{n}", b"x" * n) for n in range(5)])
    data = file.read_bytes()
    for number, (name, offset, length) in enumerate(positions):
        record = gzip.decompress(data[offset : offset + length])
        assert name == file.name
        assert record.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
        assert record.endswith(b"\r\n\r\n" + b"x" * number + b"\r\n\r\n")


@pytest.mark.parametrize("body", [b"", b"short", b"<p>" * 20_000, bytes(LARGE + 1), b"\0\xff\r\n" * LARGE])
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_digests_hold_for_warcio_and_fastwarc(tmp_path, body, encoding):
    file, (position,) = written(tmp_path, exchange(body=body, content_encoding=encoding))
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.raw_stream.read()
            assert record.digest_checker.passed
    blocks = list(FastIterator(io.BytesIO(file.read_bytes()), parse_http=False, func_filter=None))
    assert len(blocks) == 3
    for record in FastIterator(io.BytesIO(file.read_bytes()), parse_http=False):
        assert record.verify_block_digest()
    for record in FastIterator(io.BytesIO(file.read_bytes()), parse_http=True):
        if record.headers["WARC-Type"] == "response":
            assert record.verify_payload_digest()
            assert record.reader.read() == body
    assert read_record(tmp_path, position).body == body


def test_a_cut_body_says_so_in_its_record_and_beside_it(tmp_path):
    cut = exchange(truncated="length", refused="too_large")
    file, (position,) = written(tmp_path, cut)
    *_, response, metadata = records(file)
    assert response[1]["WARC-Truncated"] == "length"
    assert metadata[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
    assert metadata[2] == b"truncated: length\r\nreceived: 5\r\nrefused: too_large\r\n"
    assert response[1]["Weft-Not-A-Page"] == "too_large"
    assert read_record(tmp_path, position).truncated == "length"


def test_304_is_a_revisit_that_names_what_it_repeats(tmp_path):
    writer = ArchiveWriter(tmp_path)
    writer.store([exchange()])
    (position,) = writer.store([exchange(body=b"", status=304)])
    writer.close()
    (file,) = tmp_path.glob("*.warc.gz")
    kinds = records(file)
    first, revisit = kinds[2], kinds[4]
    assert revisit[0] == "revisit"
    assert revisit[1]["WARC-Profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert revisit[1]["WARC-Refers-To"] == first[1]["WARC-Record-ID"]
    assert revisit[1]["WARC-Refers-To-Date"] == first[1]["WARC-Date"]
    assert revisit[1]["WARC-Refers-To-Target-URI"] == "http://a.test/"
    found = read_record(tmp_path, position)
    assert (found.status, found.is_revisit, found.body) == (304, True, b"")


def test_304_refers_to_the_capture_whose_validators_were_sent_whoever_wrote_it(tmp_path):
    known = Original("<urn:uuid:1>", "http://a.test/before", "2026-01-01T00:00:00.000Z", "A" * 32)
    file, _ = written(tmp_path, exchange(body=b"", status=304, original=known))
    fields = records(file)[2][1]
    assert fields["WARC-Refers-To"] == known.record
    assert fields["WARC-Refers-To-Target-URI"] == known.url
    assert fields["WARC-Refers-To-Date"] == known.date


def test_the_index_lists_no_304(tmp_path):
    writer = ArchiveWriter(tmp_path)
    writer.store([exchange()])
    writer.store([exchange(body=b"", status=304)])
    writer.close()
    (index,) = tmp_path.glob("*.cdxj")
    assert [json.loads(line.split(" ", 2)[2])["status"] for line in index.read_text().splitlines()] == ["200"]


def test_a_read_record_tells_how_to_refer_to_it_and_a_revisit_tells_its_original(tmp_path):
    writer = ArchiveWriter(tmp_path)
    (first,) = writer.store([exchange()])
    (second,) = writer.store([exchange(started=MOMENT + 5000)])
    writer.close()
    found = read_record(tmp_path, first).original
    fields = records(next(tmp_path.glob("*.warc.gz")))[2][1]
    assert found.record == fields["WARC-Record-ID"]
    assert (found.url, found.date) == ("http://a.test/", "2026-02-02T02:40:00.123Z")
    assert f"sha1:{found.digest}" == fields["WARC-Payload-Digest"]
    assert read_record(tmp_path, second).is_revisit
    assert read_record(tmp_path, second).original == found


def test_a_page_that_was_gone_in_between_is_stored_in_full(tmp_path):
    writer = ArchiveWriter(tmp_path)
    *_, back = [writer.store([one])[0] for one in (exchange(), exchange(status=404, body=b"no"), exchange())]
    writer.close()
    assert not read_record(tmp_path, back).is_revisit


def test_the_same_payload_in_another_framing_is_stored_in_full(tmp_path):
    writer = ArchiveWriter(tmp_path)
    writer.store([exchange()])
    chunked = exchange(
        body=b"5\r\nhello\r\n0\r\n\r\n",
        headers=(b"Transfer-Encoding: chunked",),
        payload_digest="VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
    )
    (position,) = writer.store([chunked])
    writer.close()
    assert not read_record(tmp_path, position).is_revisit
    assert read_record(tmp_path, position).body == b"hello"


def test_304_of_a_url_that_is_not_remembered_is_a_revisit_all_the_same(tmp_path):
    file, (position,) = written(tmp_path, exchange(body=b"", status=304))
    assert "WARC-Refers-To" not in records(file)[2][1]
    assert read_record(tmp_path, position).is_revisit


def test_the_same_payload_of_the_same_url_is_stored_once(tmp_path):
    writer = ArchiveWriter(tmp_path)
    (first,) = writer.store([exchange(body=b"long " * 1000)])
    (second,) = writer.store([exchange(body=b"long " * 1000)])
    (other,) = writer.store([exchange("http://a.test/other", body=b"long " * 1000)])
    (changed,) = writer.store([exchange(body=b"new")])
    writer.close()
    found = read_record(tmp_path, second)
    assert (found.is_revisit, found.body, found.status) == (True, b"long " * 1000, 200)
    assert found.body == read_record(tmp_path, first).body
    assert not read_record(tmp_path, other).is_revisit
    assert not read_record(tmp_path, changed).is_revisit
    profile = records(next(tmp_path.glob("*.warc.gz")))[4][1]["WARC-Profile"]
    assert profile == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@pytest.mark.parametrize("first", [{"truncated": "length"}, {"status": 404}, {"body": b""}])
def test_what_is_cut_empty_or_no_page_is_not_repeated_by_reference(tmp_path, first):
    writer = ArchiveWriter(tmp_path)
    writer.store([exchange(**first)])
    (second,) = writer.store([exchange(**{**first, "truncated": ""})])
    writer.close()
    assert not read_record(tmp_path, second).is_revisit


def test_only_so_many_urls_are_remembered(tmp_path):
    writer = ArchiveWriter(tmp_path, ArchiveOptions(remembered=2))
    writer.store([exchange(f"http://a.test/{number}") for number in range(3)])
    forgotten, remembered = writer.store([exchange("http://a.test/0"), exchange("http://a.test/2")])
    writer.close()
    assert not read_record(tmp_path, forgotten).is_revisit
    assert read_record(tmp_path, remembered).is_revisit


def test_files_are_rolled_and_each_gets_its_index(tmp_path):
    writer = ArchiveWriter(tmp_path, ArchiveOptions(roll_bytes=20_000), ManualClock(1_770_000_000_000))
    positions = writer.store([exchange(f"http://a.test/{n}", Random(n).randbytes(5000)) for n in range(20)])
    writer.close()
    files = sorted(tmp_path.glob("*.warc.gz"))
    assert len(files) > 1
    assert {position.file for position in positions} == {file.name for file in files}
    for file in files:
        assert records(file)[0][0] == "warcinfo"
        lines = file.with_name(file.name.removesuffix(".warc.gz") + ".cdxj").read_text().splitlines()
        assert lines == sorted(lines)
    assert not list(tmp_path.glob("*.part"))
    for number, position in enumerate(positions):
        assert read_record(tmp_path, position).url == f"http://a.test/{number}"


def test_the_index_has_the_lines_that_replay_tools_read(tmp_path):
    file, (page, moved) = written(
        tmp_path,
        exchange("http://www.a.test:80/Path/?b=2&a=1", b"hello"),
        exchange("https://a.test:8443/x", b"", status=301, content_type=""),
    )
    first, second = file.with_name(file.name.removesuffix(".warc.gz") + ".cdxj").read_text().splitlines()
    key, timestamp, fields = first.split(" ", 2)
    assert (key, timestamp) == ("test,a)/path?a=1&b=2", "20260202024000")
    assert json.loads(fields) == {
        "url": "http://www.a.test:80/Path/?b=2&a=1",
        "mime": "text/html",
        "status": "200",
        "digest": "VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "length": str(page.length),
        "offset": str(page.offset),
        "filename": file.name,
    }
    assert second.startswith("test,a:8443)/x 20260202024000 ")
    assert json.loads(second.split(" ", 2)[2])["status"] == "301"
    assert json.loads(second.split(" ", 2)[2])["mime"] == "unk"
    assert json.loads(second.split(" ", 2)[2])["offset"] == str(moved.offset)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.one_of(st.binary(max_size=300), st.binary(max_size=300), st.just(b"x" * (LARGE + 1))),
            st.sampled_from([200, 200, 304, 404]),
            st.sampled_from(["", "gzip"]),
        ),
        max_size=8,
    )
)
def test_whatever_is_stored_is_read_back_as_it_was(tmp_path_factory, stored):
    directory = tmp_path_factory.mktemp("archive")
    writer = ArchiveWriter(directory, ArchiveOptions(roll_bytes=3_000))
    exchanges = [
        exchange(f"http://a.test/{number}", b"" if status == 304 else body, status, content_encoding=encoding)
        for number, body, status, encoding in stored
    ]
    positions = [position for at in range(0, len(exchanges), 4) for position in writer.store(exchanges[at : at + 4])]
    writer.close()
    for one, position in zip(exchanges, positions, strict=True):
        found = read_record(directory, position)
        assert (found.url, found.status, found.body) == (one.url, one.status, one.body)
