"""DNS messages: what is read is what stands there, and nothing that is damaged gets through or takes long."""

from __future__ import annotations

import random
import struct
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from string import ascii_uppercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.name_server import AAAA, CNAME, NXDOMAIN, A, Asked, Reply, a, encoded_name, zone_end
from support.step_counting import steps
from weft.addresses.dns_exchange import system_servers
from weft.addresses.dns_message import DnsQuestion, DnsRecord, NotDns, RecordType, decode, is_answer

QUESTION = DnsQuestion(7, "a.example", RecordType.A)


def message(reply: Reply) -> bytes:
    asked = Asked(7, "a.example", A, encoded_name("a.example") + b"\0\1\0\1", False, None, lambda _: None)
    return asked.message(reply)


def with_records(count: int, records: bytes) -> bytes:
    return struct.pack("!6H", 7, 0x8180, 1, count, 0, 0) + encoded_name("a.example") + b"\0\1\0\1" + records


def test_records_are_read() -> None:
    answers = [("a.example", CNAME, 5, "B.Example"), *a("b.example", "93.0.0.1", "2a00::1", ttl=9).answers]
    found = decode(message(Reply(answers, NXDOMAIN, [zone_end(3600, 77)])))
    assert found.code == NXDOMAIN
    assert [tuple(record) for record in found.answers] == [
        ("a.example", CNAME, 5, "b.example"),
        ("b.example", A, 9, "93.0.0.1"),
        ("b.example", AAAA, 9, "2a00::1"),
    ]
    assert [(record.ttl, record.data) for record in found.authorities] == [(3600, 77)]


def test_names_may_point_back() -> None:
    pointed = with_records(2, b"\xc0\x0c\0\5\0\1\0\0\0\5\0\4\1x\xc0\x0e" + b"\xc0\x27\0\1\0\1\0\0\0\5\0\4\x5d\0\0\1")
    assert [(record.name, record.data) for record in decode(pointed).answers] == [
        ("a.example", "x.example"),
        ("x.example", "93.0.0.1"),
    ]


def test_records_of_other_kinds_and_classes_are_passed_over() -> None:
    other = b"\xc0\x0c\0\x10\0\1\0\0\0\5\0\3\2hi" + b"\xc0\x0c\0\1\0\3\0\0\0\5\0\4\1\2\3\4"
    assert decode(with_records(3, other + b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x5d\0\0\1")).answers[0].data == "93.0.0.1"


@pytest.mark.parametrize(
    ("records", "why"),
    [
        (b"\xc0\x1b\0\1\0\1\0\0\0\5\0\4\1\2\3\4", "a name never ends"),
        (b"\xc0\x1d\xc0\x1b\0\1\0\1\0\0\0\5\0\4\1\2\3\4", "a name never ends"),
        (b"\xff\xff\0\1\0\1\0\0\0\5\0\4\1\2\3\4", "a name ends behind the message"),
        (b"\xc0", "a name ends behind the message"),
        (b"\x80x\0\1\0\1", "a name is too long"),
        (b"\x05ab", "a name is too long"),
        ((b"\x3f" + b"x" * 63) * 4 + b"\0\0\1\0\1\0\0\0\5\0\4\1\2\3\4", "a name is too long"),
        (b"\xc0\x0c\0\1\0\1\0\0\0\5\0\x04\1\2\3", "a record ends behind the message"),
        (b"\xc0\x0c\0\1\0\1\0\0", "the message ends early"),
        (b"\xc0\x0c\0\1\0\1\0\0\0\5\0\3\1\2\3", "a record has the wrong size"),
        (b"\xc0\x0c\0\x1c\0\1\0\0\0\5\0\4\1\2\3\4", "a record has the wrong size"),
        (b"", "a name ends behind the message"),
    ],
)
def test_damaged_messages_are_known_as_such(records: bytes, why: str) -> None:
    with pytest.raises(NotDns, match=why):
        decode(with_records(1, records))


def test_a_message_full_of_pointers_is_read_in_no_time() -> None:
    pointers = b"".join(struct.pack("!H", 0xC000 | min(0x3FFF, 29 + 2 * number)) for number in range(32_000))
    with pytest.raises(NotDns):
        decode(with_records(65_535, b"\0" + pointers))


LONGEST_CHAIN = b"".join(b"\1x\xc0" + bytes([29 + 4 * number + 4]) for number in range(50)) + b"\0"
ADDRESS = b"\0\1\0\1\0\0\0\5\0\4\x5d\0\0\1"
LARGE = {
    "addresses": with_records(5400, (b"\xc0\x0c" + ADDRESS) * 4000),
    "as many addresses as may be": with_records(256, (b"\xc0\x0c" + ADDRESS) * 255),
    "names that point on and on": with_records(
        200, LONGEST_CHAIN + b"\0\x10\0\1\0\0\0\0\0\0" + (b"\xc0\x1d" + ADDRESS) * 199
    ),
    "names of many labels": with_records(120, (b"\1x" * 120 + b"\0" + ADDRESS) * 120),
    "aliases in a row": with_records(
        250, b"".join(b"\2%02x\0\0\5\0\1\0\0\0\5\0\4\2%02x\0" % (number, number + 1) for number in range(250))
    ),
    "questions": struct.pack("!6H", 7, 0x8180, 65_535, 0, 0, 0) + b"\0\0\1\0\1" * 13_000,
    "other records": with_records(65_535, b"\0\0\x10\0\1\0\0\0\0\0\0" * 5900),
}


@pytest.mark.parametrize("kind", LARGE)
def test_no_message_takes_more_than_a_bounded_number_of_steps(kind: str) -> None:
    def work() -> None:
        is_answer(LARGE[kind], QUESTION)
        with suppress(NotDns):
            decode(LARGE[kind])

    assert len(LARGE[kind]) <= 65_535
    assert steps(work) < 50_000


def test_as_many_addresses_as_anybody_needs_are_read() -> None:
    assert len(decode(with_records(250, (b"\xc0\x0c" + ADDRESS) * 250)).answers) == 250


def test_a_message_with_more_records_than_may_be_is_refused_before_any_is_read() -> None:
    def work() -> None:
        with pytest.raises(NotDns, match="more than 16384 bytes or 256 records"):
            decode(LARGE["addresses"])

    work()
    assert steps(work) < 300


@pytest.mark.parametrize("data", [b"", b"\0\7", b"\0" * 11])
def test_what_has_no_header_is_no_answer(data: bytes) -> None:
    assert not is_answer(data, QUESTION)
    with pytest.raises(NotDns):
        decode(data)


def test_the_question_is_repeated_in_any_case() -> None:
    data = message(Reply())
    assert is_answer(data, QUESTION)
    assert is_answer(data.replace(b"example", b"eXAMple"), QUESTION)
    assert not is_answer(data, QUESTION._replace(name="b.example"))
    assert not is_answer(data, QUESTION._replace(type=RecordType.AAAA))
    assert not is_answer(data, QUESTION._replace(id=8))


SOUND = [(A, b"\1\2\3\4"), (AAAA, b"\1" * 16), (CNAME, b"\2Hi\0"), (RecordType.SOA, b"\3" * 22)]
RECORDS = st.builds(
    lambda content, ttl: b"\1B\0" + struct.pack("!2HIH", content[0], 1, ttl, len(content[1])) + content[1],
    st.sampled_from(SOUND) | st.tuples(st.sampled_from(RecordType), st.binary(max_size=24)),
    st.integers(0, 2**32 - 1),
)
MESSAGES = st.builds(
    lambda flags, records: struct.pack("!6H", 7, flags, 0, len(records), 0, 0) + b"".join(records),
    st.just(0x8180) | st.integers(0, 0xFFFF),
    st.lists(RECORDS, max_size=3),
)


@given(MESSAGES | st.binary(max_size=200))
def test_any_bytes_are_read_or_known_as_damaged(data: bytes) -> None:
    if is_answer(data, QUESTION):
        assert data[:2] == b"\0\7"
        assert data[2] & 0x80
    try:
        found = decode(data)
    except NotDns:
        return
    records = found.answers + found.authorities
    assert 0 <= found.code <= 15
    assert not (found.is_truncated and records)
    assert all(0 <= record.ttl < 2**31 and is_well_formed(record) for record in records)


def is_well_formed(record: DnsRecord) -> bool:
    match record.type, record.data:
        case RecordType.A | RecordType.AAAA, str(address):
            return ip_address(address).version == (4 if record.type == RecordType.A else 6)
        case RecordType.CNAME, str(name):
            return len(name) < 255 and not any(letter in ascii_uppercase for letter in name)
        case RecordType.SOA, int(ttl):
            return 0 <= ttl < 2**32
    return False


def test_damage_to_good_messages_is_read_or_known() -> None:
    source = random.Random(1035)
    good = message(
        Reply([("a.example", CNAME, 5, "b.example"), *a("b.example", "93.0.0.1").answers], 0, [zone_end(1, 2)])
    )
    read = 0
    for _ in range(20_000):
        data = bytearray(good)
        for _ in range(source.randrange(1, 4)):
            data[source.randrange(len(data))] = source.randrange(256)
        with suppress(NotDns):
            decode(bytes(data[: source.randrange(len(data) + 40)]))
            read += 1
    assert 1000 < read < 19_000


def test_the_servers_of_the_system_are_read(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(
        "# nameserver 192.0.2.9\nsearch example\nnameserver 192.0.2.1\n nameserver\tfe80::1%eth0 x\nnameserver here\n"
        "nameserver 2001:db8::1\nnameserver\noptions ndots:5\n"
    )
    assert system_servers(path) == [("192.0.2.1", 53), ("fe80::1%eth0", 53), ("2001:db8::1", 53)]
    assert system_servers(tmp_path / "none") == [("127.0.0.1", 53)]
