"""docs/wire.md: every example is what the code sends, reads or refuses."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from weft.wire import (
    LONGEST_LINE,
    VERSION,
    Done,
    Fetch,
    Hello,
    LineSplitter,
    Slots,
    TransId,
    WireError,
    Working,
    decode_reply,
    decode_request,
    encode_reply,
    encode_request,
    make_trans_id,
)

PAGE = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")


def rows_under(header: str) -> list[list[str]]:
    """The cells of the one table with this header, without backticks."""
    lines = PAGE.splitlines()
    rows = []
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([re.sub(r"^ `?|`? $", "", cell) for cell in line[1:-1].split("|")])
    return rows


def as_bytes(cell: str) -> bytes:
    return bytes(ast.literal_eval(f"b'{cell}'"))


def test_requests_are_written_and_read_as_printed() -> None:
    rows = rows_under("| line | TRANS_ID | DOC_ID | HOST_IP | URL |")
    assert len(rows) == 2
    for line, trans_id, doc_id, ip, url in rows:
        message = Fetch(TransId(trans_id), int(doc_id), ip, url)
        assert encode_request(message) == f"{line}\n".encode()
        assert decode_request(line.encode()) == message


def test_replies_are_written_and_read_as_printed() -> None:
    rows = rows_under("| line | TRANS_ID | meaning |")
    kinds: tuple[type[Working | Done], ...] = (Working, Done)
    for (line, trans_id, _), kind in zip(rows, kinds, strict=True):
        assert encode_reply(kind(TransId(trans_id))) == f"{line}\n".encode()
        assert decode_reply(line.encode()) == kind(TransId(trans_id))


def test_trans_ids_are_made_of_the_slots_printed() -> None:
    rows = rows_under("| TRANS_ID | host slot | active slot | generation |")
    assert len(rows) == 3
    for trans_id, *slots in rows:
        assert make_trans_id(Slots(*map(int, slots))) == trans_id


def test_the_greeting_is_the_one_printed() -> None:
    greeting = re.search(r"^    (HELLO .*)$", PAGE, re.MULTILINE)
    assert greeting
    assert decode_request(greeting[1].encode()) == Hello("correct-horse")
    assert encode_request(Hello("correct-horse")) == f"{greeting[1]}\n".encode()
    assert f"{VERSION} is the version" in PAGE


REQUESTS = rows_under("| from the URL server | why |")
REPLIES = rows_under("| from the spider | why |")


def test_the_refused_lines_are_found() -> None:
    assert (len(REQUESTS), len(REPLIES)) == (15, 7)
    assert REPLIES[4][0] == " DONE"
    assert REPLIES[6][0] == ""


@pytest.mark.parametrize(("line", "why"), REQUESTS)
def test_the_requests_printed_as_refused_are(line: str, why: str) -> None:
    with pytest.raises(WireError):
        list(map(decode_request, LineSplitter().feed(as_bytes(line) + b"\n")))


@pytest.mark.parametrize(("line", "why"), REPLIES)
def test_the_replies_printed_as_refused_are(line: str, why: str) -> None:
    with pytest.raises(WireError):
        list(map(decode_reply, LineSplitter().feed(as_bytes(line) + b"\n")))


def test_the_longest_line_is_as_long_as_printed() -> None:
    assert f"at most {LONGEST_LINE:,} bytes" in PAGE
