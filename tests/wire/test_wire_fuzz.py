"""Random and damaged lines: each is read as one message that can be sent so, or refused with one sentence."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from weft.wire import LineSplitter, WireError, decode_reply, decode_request, encode_reply, encode_request

SEED = 9309
GOOD = [
    b"17.0.4711 90125 192.0.2.10 https://www.example.com/a?b=1",
    b"0.3.1 7 2001:db8::10 http://example.com:8080/",
    b"17.0.4711 DONE",
    b"17.0.4711 WORKING",
    b"HELLO 1 token",
]
PIECES = [b" ", b"\n", b"\r", b"\0", b"DONE", b"WORKING", b"HELLO", b"1", b"://", b"\xff", b"0", b"-", b"%0A", b"#"]


def damaged(line: bytes, source: random.Random) -> bytes:
    """`line` with a few pieces put in, taken out or changed."""
    changed = bytearray(line)
    for _ in range(source.randrange(4)):
        place, kind = source.randrange(len(changed) + 1), source.randrange(3)
        if kind == 0:
            changed[place:place] = source.choice(PIECES)
        elif kind == 1:
            del changed[place : place + source.randrange(1, 4)]
        else:
            changed[place : place + 1] = source.randbytes(1)
    return bytes(changed)


def random_lines(count: int) -> Iterator[bytes]:
    source = random.Random(SEED)
    for number in range(count):
        yield source.randbytes(source.randrange(60)) if number % 4 == 0 else damaged(source.choice(GOOD), source)


def read_by_spider(line: bytes) -> None:
    for found in LineSplitter().feed(line + b"\n"):
        assert encode_request(decode_request(found)) == found + b"\n"


def read_by_url_server(line: bytes) -> None:
    for found in LineSplitter().feed(line + b"\n"):
        assert encode_reply(decode_reply(found)) == found + b"\n"


def is_refused(read: Callable[[bytes], None], line: bytes) -> bool:
    try:
        read(line)
    except WireError as error:
        sentence = str(error)
    else:
        return False
    assert "\n" not in sentence
    assert "expected" in sentence
    return True


def run(count: int) -> None:
    for read in (read_by_spider, read_by_url_server):
        refused = sum(is_refused(read, line) for line in random_lines(count))
        # The damage must leave some lines readable, and not too many, or this proves little.
        assert count / 2 < refused < count * 19 / 20


def test_fifty_thousand_random_lines() -> None:
    run(50_000)


@pytest.mark.long
def test_a_million_random_lines() -> None:
    run(1_000_000)
