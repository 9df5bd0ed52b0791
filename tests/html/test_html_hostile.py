"""No bytes break the reader, and none make it slow: work grows with the size of a page, not with its square."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import hostile_pages
from support.html_pieces import pages
from weft.html import ParsedPage, parse_page

PROGRAM = Path(hostile_pages.__file__)
LARGE = 100_000
"""Elements; work that grows with the square of it takes minutes."""
ENOUGH = 20.0
"""Seconds of CPU time for what takes one; a switch that ends, not a measurement."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(ParsedPage).decode


def read_all(names, size, seconds):
    """CPU seconds by name for the pages that were read in time; a page that takes too long ends its process."""
    finished: dict[str, float] = {}
    waiting = list(names)
    while waiting:
        command = [sys.executable, str(PROGRAM), str(size), str(seconds), *waiting]
        lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
        finished |= {name: float(taken) for name, taken in (line.split("\t") for line in lines)}
        waiting = waiting[len(lines) + 1 :]
    return finished


@pytest.fixture(scope="module")
def finished():
    return read_all(hostile_pages.PAGES, LARGE, ENOUGH)


@pytest.mark.parametrize("name", hostile_pages.PAGES)
def test_a_hostile_page_is_read_in_time(finished, name):
    assert name in finished


@pytest.mark.long
@pytest.mark.parametrize("name", hostile_pages.PAGES)
def test_work_grows_with_the_size(name):
    """Eight times the size takes eight times as long, give or take; the square would be 64 times."""
    small, large = (read_all([name], size, 120.0)[name] for size in (LARGE // 2, LARGE * 4))
    assert large < 25 * max(small, 0.02)


@pytest.mark.long
def test_ten_megabytes_of_links():
    page = parse_page(b"<a href=/x>y</a>" * 655_360)
    assert len(page.links) == 655_360


def check(body: bytes, content_type: str = "") -> None:
    page = parse_page(body, content_type)
    assert decode(encode(page)) == page
    assert parse_page(body, content_type) == page
    assert len(page.title) <= 512
    assert all(len(link.anchor) <= 256 for link in page.links)
    assert 0 <= page.fingerprint < 2**64
    assert (page.fingerprint == 0) == (page.simhash == 0)


@given(st.binary(max_size=2000), st.text(max_size=30))
def test_any_bytes_are_a_page(body, content_type):
    check(body, content_type)


@given(st.text(alphabet="<>/=\"'&;!-?# \n\0abhrefdivspantable\udc80é漢", max_size=300))
def test_any_signs_of_markup_are_a_page(text):
    check(text.encode("utf-8", "surrogateescape"))


@given(pages, st.data())
def test_a_mangled_page_is_a_page(page, data):
    """Pieces of a page are cut out, doubled or overwritten."""
    body = bytearray(page.encode())
    for _ in range(data.draw(st.integers(1, 5))):
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, min(len(body), start + 30)))
        body[start:end] = data.draw(st.binary(max_size=8) | st.just(bytes(body[start:end]) * 2))
    check(bytes(body))
