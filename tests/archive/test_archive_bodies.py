"""Bodies out of chunks and encodings: the published ones, random ones, and bombs."""

from __future__ import annotations

import gzip
import zlib
from mmap import ACCESS_READ, mmap
from random import Random

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from support.suites import suite_file
from weft.archive.body_decoding import BodyRefused, DecodeLimits, decode, decode_beginning, decoded_size
from weft.archive.http_message import MOST_CHUNKS, dechunked, parse_head, split_head, text_of
from weft.model.fetch_error import FetchError

LIMITS = DecodeLimits()
PACKERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=3),
    "zstd": zstandard.compress,
}
BAD, BOMB, LARGE = FetchError.BAD_ENCODING, FetchError.BOMB, FetchError.TOO_LARGE


@given(st.binary(max_size=2000), st.integers(1, 300), st.lists(st.sampled_from(sorted(PACKERS)), max_size=2))
def test_what_was_encoded_is_decoded(data, times, encodings):
    body = whole = data * times
    for name in encodings:
        body = PACKERS[name](body)
    names = ", ".join(encodings)
    assert decode(body, names, LIMITS) == (whole, True)
    assert decoded_size(body, names, LIMITS) == (len(whole), True)
    assert decode_beginning(body, names, 100) == whole[:100]


@pytest.mark.parametrize(
    ("name", "encoding", "size"),
    [
        ("content-encoding/gzip/resources/foo.text.gz", "gzip", 10_500),
        ("content-encoding/gzip/resources/hello.html.gz", "gzip", 11),
        ("content-encoding/br/resources/foo.text.br", "br", 10_500),
        ("content-encoding/br/resources/hello.html.br", "br", 11),
        ("content-encoding/zstd/resources/foo.text.zst", "zstd", 10_500),
        ("content-encoding/zstd/resources/hello.html.zst", "zstd", 11),
        ("bombs/html-gzip.bin", "gzip", 74_837),
        ("bombs/html-br.bin", "br", 74_837),
        ("bombs/html-rawdeflate.bin", "deflate", 74_840),
        ("bombs/html-zlibdeflate.bin", "deflate", 74_840),
        ("bombs/html-zstd-static-content-size.bin", "zstd", 74_837),
        ("bombs/html-zstd-static-no-content-size.bin", "zstd", 74_837),
        ("bombs/html-zstd-streaming-no-content-size.bin", "zstd", 74_837),
        ("bombs/html-gzip-deflate.bin", "gzip, deflate", 74_837),
    ],
)
def test_published_bodies_are_decoded(name, encoding, size):
    found = decode(suite_file(f"bodies/{name}").read_bytes(), encoding, LIMITS)
    assert (len(found.data), found.is_whole) == (size, True)


@pytest.mark.parametrize(
    ("name", "encoding", "reason"),
    [
        ("bombs/bomb-br.bin", "br", BOMB),
        ("bombs/bomb-gzip.bin", "gzip", BOMB),
        ("bombs/bomb-deflate.bin", "deflate", BOMB),
        ("bombs/bomb-zstd.bin", "zstd", BOMB),
        ("content-encoding/br/resources/big.text.br", "br", BOMB),
        ("content-encoding/gzip/resources/big.text.gz", "gzip", LARGE),
        ("content-encoding/zstd/resources/big.text.zst", "zstd", BOMB),
        ("content-encoding/zstd/resources/big.window.zst", "zstd", BAD),
        ("bombs/html-gzip-deflate-gzip.bin", "gzip, deflate, gzip", BAD),
        ("bombs/html-gzip.bin", "br", BAD),
        ("bombs/html-br.bin", "gzip", BAD),
        ("bombs/html-br.bin", "zstd", BAD),
    ],
)
def test_published_bombs_and_bad_bodies_are_refused(name, encoding, reason):
    body = suite_file(f"bodies/{name}").read_bytes()
    for attempt in (decode, decoded_size):
        with pytest.raises(BodyRefused) as refused:
            attempt(body, encoding, LIMITS)
        assert refused.value.reason is reason


@pytest.mark.parametrize("name", ["truncated-crc-error.gz", "truncated-crc-error-short.gz", "unexpected-eof.gz"])
def test_published_bodies_that_end_early_give_what_came(name):
    found = decode(suite_file(f"bodies/bombs/{name}").read_bytes(), "gzip", LIMITS)
    assert len(found.data) > 3000
    assert not found.is_whole


@pytest.mark.parametrize("encoding", sorted(PACKERS))
def test_a_body_that_ends_early_gives_what_came_or_nothing(encoding):
    whole = Random(1).randbytes(500_000)
    packed = PACKERS[encoding](whole)
    for share in range(4, 8):
        found = decode(packed[: len(packed) * share // 8], encoding, LIMITS)
        assert whole.startswith(found.data)
        assert not found.is_whole
    with pytest.raises(BodyRefused, match="nothing of its"):
        decode(packed[:4], encoding, LIMITS)


@pytest.mark.parametrize("encoding", ["", "identity", "none", "utf-8", "compress", "IDENTITY, unknown"])
def test_unknown_encodings_mean_nothing(encoding):
    assert decode(b"<html>", encoding, LIMITS) == (b"<html>", True)


@pytest.mark.parametrize("encoding", sorted(PACKERS))
def test_an_empty_body_stays_empty(encoding):
    assert decode(b"", encoding, LIMITS) == (b"", True)


def test_members_follow_each_other_and_rubbish_is_ignored():
    assert decode(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0rubbish", "gzip", LIMITS) == (b"ab", True)


def test_limits_hold_to_the_byte():
    limits = DecodeLimits(size=1000)
    assert len(decode(gzip.compress(bytes(1000)), "gzip", limits).data) == 1000
    with pytest.raises(BodyRefused):
        decode(gzip.compress(bytes(1001)), "gzip", limits)
    with pytest.raises(BodyRefused):
        decode(bytes(1001), "", limits)


def test_a_bomb_between_two_encodings_is_refused():
    inner = gzip.compress(bytes(50 << 20), 9)
    with pytest.raises(BodyRefused) as refused:
        decoded_size(gzip.compress(inner, 9), "gzip, gzip", LIMITS)
    assert refused.value.reason is BOMB


def chunked(data: bytes, sizes: list[int]) -> bytes:
    parts, at = [], 0
    for size in sizes:
        piece = data[at : at + size]
        if piece:
            parts.append(b"%x;ext=1\r\n%b\r\n" % (len(piece), piece))
        at += size
    rest = data[at:]
    parts += [b"%X\r\n%b\r\n" % (len(rest), rest)] if rest else []
    return b"".join(parts) + b"0\r\nTrailer: x\r\n\r\n"


@given(st.binary(max_size=2000), st.lists(st.integers(1, 500), max_size=10))
def test_chunks_are_taken_off(data, sizes):
    assert dechunked(chunked(data, sizes)) == data


@given(st.binary(max_size=500), st.integers(0, 600))
def test_chunks_that_end_early_give_what_came(data, end):
    assert data.startswith(dechunked(chunked(data, [50] * 20)[:end]))


@given(st.binary(max_size=300))
def test_what_is_not_chunked_never_fails(rubbish):
    assert len(dechunked(rubbish)) <= len(rubbish)


def test_tiny_chunks_do_not_cost_for_ever():
    assert len(dechunked(b"1\r\nx\r\n" * (MOST_CHUNKS + 5))) == MOST_CHUNKS


def test_a_body_on_disk_is_decoded_like_one_in_memory(tmp_path):
    (tmp_path / "body").write_bytes(chunked(gzip.compress(b"hello" * 1000), [100] * 5))
    with (tmp_path / "body").open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as body:
        assert decode(dechunked(body), "gzip", LIMITS).data == b"hello" * 1000


def test_heads_are_read_as_they_come():
    head = parse_head(b"HTTP/1.1 200 OK\r\nA: 1\r\nb:2\r\na: 3\r\nno field\r\nC: x\r\n  y\r\n\r\n")
    assert (head.status, head.get("a"), head.joined("a"), head.get("b"), head.get("c")) == (
        200,
        "1",
        "1, 3",
        "2",
        "x y",
    )
    assert head.get("none") == ""
    assert split_head(b"a: b\n\nrest\r\n\r\nmore") == (b"a: b\n\n", b"rest\r\n\r\nmore")
    assert split_head(b"no end") == (b"no end", b"")


@pytest.mark.parametrize(
    ("received", "meant"),
    [(b"/plain", "/plain"), ("/straße".encode(), "/straße"), (b"/stra\xdfe", "/straße"), (b"", "")],
)
def test_a_header_value_in_utf_8_is_read_as_it_was_meant(received, meant):
    head = parse_head(b"HTTP/1.1 301 Moved\r\nLocation: " + received + b"\r\n\r\n")
    assert text_of(head.get("location")) == meant
