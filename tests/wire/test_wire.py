"""Lines between URL server and spider: what is sent is what is read, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.wire import (
    LONGEST_LINE,
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
    split_trans_id,
)

NUMBERS = st.integers(0, 2**63 - 1)
WORDS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=64)
TRANS_IDS = st.builds(TransId, WORDS)
IPS = st.ip_addresses().map(str)
URLS = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), st.just("a.com"), WORDS).filter(
    lambda url: "#" not in url
)
FETCHES = st.builds(Fetch, TRANS_IDS, NUMBERS, IPS, URLS)
REPLIES = st.builds(Done, TRANS_IDS) | st.builds(Working, TRANS_IDS)


def fetch(trans_id: str = "1.0.1", doc_id: int = 7, ip: str = "192.0.2.1", url: str = "https://a.com/") -> Fetch:
    return Fetch(TransId(trans_id), doc_id, ip, url)


@given(FETCHES | st.builds(Hello, WORDS))
def test_a_request_is_read_as_it_was_sent(message: Fetch | Hello) -> None:
    line = encode_request(message)
    assert line.endswith(b"\n")
    assert decode_request(line[:-1]) == message


@given(REPLIES)
def test_a_reply_is_read_as_it_was_sent(message: Done | Working) -> None:
    assert decode_reply(encode_reply(message)[:-1]) == message


@given(st.builds(Slots, NUMBERS, NUMBERS, NUMBERS))
def test_a_trans_id_gives_back_its_slots(slots: Slots) -> None:
    assert split_trans_id(make_trans_id(slots)) == slots


@given(st.text(max_size=40))
def test_a_trans_id_has_one_spelling(text: str) -> None:
    try:
        slots = split_trans_id(TransId(text))
    except WireError:
        return
    assert make_trans_id(slots) == text


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "1.2.3.4", "-1.0.0", "1.0.01", "1.0.", "1.0.٣", "0.0.9223372036854775808"]
)
def test_a_forged_trans_id_is_known_as_such(text: str) -> None:
    with pytest.raises(WireError, match="is not one of ours"):
        split_trans_id(TransId(text))


@pytest.mark.parametrize("slots", [Slots(-1, 0, 0), Slots(0, 0, 2**63)])
def test_slots_that_cannot_be_are_not_sent(slots: Slots) -> None:
    with pytest.raises(WireError):
        make_trans_id(slots)


@pytest.mark.parametrize(
    "message",
    [
        fetch(url="https://a.com/\n2.0.2 8 127.0.0.1 http://b.com/"),
        fetch(url="https://a.com/ x"),
        fetch(url="https://a.com/\r"),
        fetch(url="https://a.com/\0"),
        fetch(url="https://a.com/ä"),
        fetch(url="https://a.com/\udc80"),
        fetch(url="https://a.com"),
        fetch(url="javascript:alert(1)"),
        fetch(url="https://a.com/" + "x" * LONGEST_LINE),
        fetch(trans_id="1.0.1\n"),
        fetch(trans_id="1 2"),
        fetch(trans_id=""),
        fetch(trans_id="x" * 65),
        fetch(doc_id=-1),
        fetch(doc_id=2**63),
        fetch(ip="a.com"),
        fetch(ip="1.2.3"),
        fetch(ip="fe80::1%eth0"),
        fetch(ip=""),
        Hello(""),
        Hello("a b"),
        Hello("a\nHELLO 1 b"),
        Hello("ä"),
        Hello("x" * LONGEST_LINE),
    ],
    ids=str,
)
def test_what_would_be_read_otherwise_is_not_sent(message: Fetch | Hello) -> None:
    with pytest.raises(WireError):
        encode_request(message)


@pytest.mark.parametrize("trans_id", ["", " ", "a b", "a\n", "a\nb DONE", "ä", "x" * 65])
def test_a_reply_that_would_be_read_otherwise_is_not_sent(trans_id: str) -> None:
    with pytest.raises(WireError):
        encode_reply(Done(TransId(trans_id)))


@given(st.data())
def test_no_field_can_bring_a_line_feed(data: st.DataObject) -> None:
    message = data.draw(FETCHES)
    name = data.draw(st.sampled_from(["trans_id", "ip", "url"]))
    value = getattr(message, name)
    cut = data.draw(st.integers(0, len(value)))
    fields = {field: getattr(message, field) for field in message.__struct_fields__}
    with pytest.raises(WireError):
        encode_request(Fetch(**{**fields, name: value[:cut] + "\n" + value[cut:]}))


def test_tokens_are_compared_and_never_shown() -> None:
    hello = Hello("s3cret")
    assert hello.is_for("s3cret")
    assert not hello.is_for("s3cre")
    assert not hello.is_for("ä")
    assert "s3cret" not in repr(hello)
    for line in (b"HELLO 1 s3cret x", b"HELLO 2 s3cret", b"HELLO s3cret"):
        with pytest.raises(WireError) as refused:
            decode_request(line)
        assert "s3cret" not in str(refused.value)


@given(st.lists(FETCHES, max_size=5), st.data())
def test_lines_come_out_whole_however_they_are_cut(messages: list[Fetch], data: st.DataObject) -> None:
    stream = b"".join(map(encode_request, messages))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    splitter = LineSplitter()
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [decode_request(line) for piece in pieces for line in splitter.feed(piece)] == messages


def test_lines_before_a_bad_one_are_given_out() -> None:
    lines = LineSplitter().feed(b"1 DONE\n2 DO\x00NE\n3 DONE\n")
    assert next(lines) == b"1 DONE"
    with pytest.raises(WireError, match="byte 0x00 at 4 of a line"):
        next(lines)


def test_nothing_is_read_behind_a_bad_line() -> None:
    splitter = LineSplitter()
    for data in (b"\xff\n", b"1 DONE\n"):
        with pytest.raises(WireError, match="byte 0xff at 0 of a line"):
            list(splitter.feed(data))


@pytest.mark.parametrize("size", [1, 1000, LONGEST_LINE, 10 * LONGEST_LINE])
def test_a_line_without_an_end_is_refused_once_it_is_too_long(size: int) -> None:
    splitter = LineSplitter()
    for _ in range((LONGEST_LINE - 1) // size):
        assert list(splitter.feed(b"x" * size)) == []
    with pytest.raises(WireError, match="is too long"):
        list(splitter.feed(b"x" * size))
    with pytest.raises(WireError, match="is too long"):
        list(splitter.feed(b"x\n"))


def test_the_longest_line_is_sent_and_read() -> None:
    url = "https://a.com/"
    longest = fetch(url=url + "x" * (LONGEST_LINE - len(encode_request(fetch(url=url)))))
    line = encode_request(longest)
    assert len(line) == LONGEST_LINE
    assert [decode_request(found) for found in LineSplitter().feed(line)] == [longest]
    with pytest.raises(WireError, match="is too long"):
        encode_request(fetch(url=longest.url + "x"))
    with pytest.raises(WireError, match="is too long"):
        list(LineSplitter().feed(line[:-1] + b"x\n"))
