import gzip
import io
import random
import zlib
from dataclasses import replace
from itertools import accumulate

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st

from support import warcs
from support.suites import suite_file
from weft.intake.import_source import ImportSource, expand
from weft.intake.skip_reasons import SkipReason
from weft.intake.source_position import BEGINNING, SourceDamaged
from weft.intake.source_records import SourceRecords

LIMIT = 1 << 20


@pytest.fixture
def source(tmp_path):
    def written(data, name="a.warc"):
        path = tmp_path / name
        path.write_bytes(data)
        return expand([str(path)])[0]

    return written


@pytest.fixture(params=warcs.PACKINGS.values(), ids=list(warcs.PACKINGS))
def pack(request):
    return request.param


RECORDS = [*warcs.pages(12), warcs.record("warcinfo", "", b"software: none\r\n"), warcs.record("metadata", "", b"")]
BODIES = [
    warcs.http(warcs.page(n, [f"https://s{(n + s) % 7}.com/{(n * s) % 12}" for s in range(1, 6)])) for n in range(12)
]


def entries(source, start=BEGINNING, limit=LIMIT):
    return list(SourceRecords(source, limit, start))


def until_damage(source, start=BEGINNING, limit=LIMIT):
    found = []
    try:
        for entry in SourceRecords(source, limit, start):
            found.append(entry)  # noqa: PERF402 - what came before the damage is wanted
    except SourceDamaged as damage:
        return found, damage
    pytest.fail("it was read to its end")


def bodies(found):
    return [entry.record.body for entry in found if entry.record]


def test_every_packing_gives_the_same_records(source, pack):
    found = entries(source(pack(RECORDS)))
    assert bodies(found) == BODIES
    assert [entry.passed for entry in found if entry.passed] == ["request"] * 12 + ["warcinfo", "metadata"]
    assert [entry.position.number for entry in found] == list(range(1, 27))
    record = found[1].record
    assert (record.kind, record.uri, record.date) == ("response", "https://s0.com/0", warcs.DATE)


def test_reading_can_go_on_after_every_record(source, pack):
    file = source(pack(RECORDS))
    found = entries(file)
    for number, entry in enumerate(found, 1):
        rest = entries(file, entry.after)
        assert [later.record for later in rest] == [later.record for later in found[number:]]
        assert [later.position for later in rest] == [later.position for later in found[number:]]


@pytest.mark.parametrize(
    "name", ["plain", "gzip, a member per record", "zstd, a frame per record", "zstd with a dictionary"]
)
def test_a_position_is_the_member_of_its_record(source, name):
    found = entries(source(warcs.PACKINGS[name](RECORDS)))
    assert all(entry.position.within == 0 for entry in found)
    assert len({entry.position.offset for entry in found}) == len(found)


def test_standard_input_is_read_as_a_file_is(monkeypatch, pack):
    class Pipe:
        buffer = io.BytesIO(pack(RECORDS))

    monkeypatch.setattr("sys.stdin", Pipe)
    found = entries(ImportSource().recognised())
    assert bodies(found) == BODIES


def test_positions_in_a_published_archive_are_those_of_another_reader():
    path = suite_file("warc/iana.warc.gz")
    with path.open("rb") as file:
        others = [(found.stream_pos, found.reader.read()) for found in ArchiveIterator(file, parse_http=False)]
    found = entries(expand([str(path)])[0])
    assert [entry.position.offset for entry in found] == [offset for offset, _ in others]
    expected = [body for entry, (_, body) in zip(found, others, strict=True) if entry.record]
    assert len(expected) == 48 + 123, "responses and revisits"
    assert bodies(found) == expected


@given(
    blocks=st.lists(st.binary(max_size=300), max_size=8),
    packing=st.sampled_from(sorted(set(warcs.PACKINGS) - {"zstd with a dictionary"})),
    ends=st.sampled_from([b"", b"\r\n", b"\n\n\r\n"]),
)
def test_any_content_comes_back_as_it_was(tmp_path_factory, blocks, packing, ends):
    made = [warcs.record("response", f"https://a.com/{n}", block) + ends for n, block in enumerate(blocks)]
    path = tmp_path_factory.mktemp("any") / "a.warc"
    path.write_bytes(warcs.PACKINGS[packing](made or [b"\r\n"]))
    assert bodies(entries(expand([str(path)])[0])) == blocks


def test_an_archive_in_an_archive_is_one_record(source):
    inner = b"".join(RECORDS)
    found = entries(source(warcs.record("resource", "https://a.com/a.warc", inner) + RECORDS[1]))
    assert bodies(found) == [inner, BODIES[0]]


def test_heads_with_line_feeds_only_and_folded_lines_are_read(source):
    lines = b"WARC/1.0\nwarc-type: response\nWARC-Target-URI:\n https://a.com/\nContent-Length: 3\n\nabc\n\n"
    (entry,) = entries(source(lines))
    assert (entry.record.kind, entry.record.uri, entry.record.body) == ("response", "https://a.com/", b"abc")


@pytest.mark.parametrize("packing", ["plain", "gzip, a member per record", "gzip, one member"])
@pytest.mark.parametrize(
    ("said", "told"), [(10, "10 bytes"), (5000, "5,000 bytes"), (10**12, "1,000,000,000,000 bytes")]
)
def test_a_record_of_a_wrong_length_is_refused_alone(source, packing, said, told):
    bad = warcs.record("response", "https://bad.com/", warcs.http(warcs.page(1)), length=said)
    found = entries(source(warcs.PACKINGS[packing]([RECORDS[1], bad, *RECORDS[3:]])))
    assert bodies(found) == BODIES
    (refused,) = [entry for entry in found if entry.refused]
    assert (refused.position.number, refused.refused.reason) == (2, SkipReason.LENGTH)
    assert told in refused.refused.why


@pytest.mark.parametrize("length", ["", "-1", "abc", "9" * 30])
def test_a_head_without_a_length_is_refused_alone(source, length):
    bad = RECORDS[1].replace(b"Content-Length: ", f"Content-Length: {length}\r\nX: ".encode())
    found = entries(source(b"".join([RECORDS[1], bad, *RECORDS[3:]])))
    assert bodies(found) == BODIES
    assert [entry.refused.reason for entry in found if entry.refused] == [SkipReason.HEAD]


def test_rubbish_between_records_is_refused_and_told_where_it_is(source):
    rubbish = b"what is this?\r\n" * 20_000
    found = entries(source(RECORDS[1] + rubbish + b"".join(RECORDS[3:])))
    assert bodies(found) == BODIES
    (refused,) = [entry for entry in found if entry.refused]
    # The record before the rubbish is as long as it says, yet nothing that follows it is a record.
    assert refused.position.offset in (0, len(RECORDS[1]))


def test_a_record_larger_than_the_limit_is_passed_without_being_held(source):
    large = warcs.record("response", "https://large.com/", bytes(3 << 20))
    video = warcs.record("conversion", "https://large.com/", bytes(3 << 20))
    for pack_them in (b"".join, lambda records: b"".join(map(gzip.compress, records))):
        found = entries(source(pack_them([RECORDS[1], large, video, *RECORDS[3:]])))
        assert bodies(found) == BODIES
        assert [(entry.position.number, entry.refused.reason) for entry in found if entry.refused] == [(2, "too large")]
        assert [entry.passed for entry in found][2] == "conversion"


def test_many_large_lies_end_the_reading(source):
    lie = warcs.record("response", "https://lie.com/", b"x", length=2 << 20)
    found, damage = until_damage(source(b"".join([RECORDS[1], *[lie] * 150, bytes(5 << 20)])))
    assert len(found) <= 102
    assert "too long to look inside" in str(damage)


def test_a_segment_is_refused(source):
    part = warcs.record("response", "https://a.com/", b"HTTP/1.1 200 OK\r\n\r\n", fields="WARC-Segment-Number: 1\r\n")
    (entry,) = entries(source(part))
    assert entry.refused.reason is SkipReason.SEGMENT


def test_a_plain_file_cut_anywhere_keeps_the_whole_records_before(source):
    whole = b"".join(RECORDS[1:8:2])
    ends = [len(b"".join(RECORDS[1 : 2 * n : 2])) for n in range(5)]
    for size in [*range(1, len(whole), 37), *[end - 4 for end in ends[1:]], *ends[1:]]:
        count = sum(end - 4 <= size for end in ends[1:])
        try:
            found = entries(source(whole[:size]))
            assert size in {end - rest for end in ends for rest in range(5)}
        except SourceDamaged as damage:
            assert damage.reached.number == count + 1  # noqa: PT017
            found, _ = until_damage(source(whole[:size]))
        assert bodies(found) == BODIES[:count]


@pytest.mark.parametrize("packing", ["gzip, a member per record", "gzip, one member", "zstd, a frame per record"])
def test_a_packed_file_cut_anywhere_keeps_the_whole_records_before(source, packing):
    records = RECORDS[1:16:2]
    packed = warcs.PACKINGS[packing](records)
    between = set(accumulate(len(warcs.PACKINGS[packing]([one])) for one in records))
    for size in set(range(40, len(packed) - 1, 61)) - between:
        file = source(packed[:size])
        unpacked = unpacked_of(packed[:size])
        ends = [len(b"".join(records[: n + 1])) - 4 for n in range(len(records))]
        whole = sum(end <= len(unpacked) for end in ends)
        found, damage = until_damage(file)
        assert bodies(found) == BODIES[:whole]
        assert "it ends inside a" in str(damage)
        again, _ = until_damage(file, damage.reached)
        assert bodies(again) == []


def unpacked_of(packed):
    if packed[:2] != b"\x1f\x8b":
        unpacker = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return unpacker.read(1 << 20)
    found = b""
    while packed:
        member = zlib.decompressobj(31)
        found += member.decompress(packed)
        packed = member.unused_data
    return found


@pytest.mark.parametrize("packing", ["gzip, a member per record", "zstd, a frame per record"])
def test_a_damaged_member_costs_one_record(source, packing):
    compress = gzip.compress if "gzip" in packing else zstandard.ZstdCompressor(write_checksum=True).compress
    members = [compress(record) for record in RECORDS[1:24:2]]
    chance = random.Random(5)
    for _ in range(60):
        hit = chance.randrange(1, 11)
        at = chance.randrange(4, len(members[hit]))
        spoilt = bytearray(members[hit])
        spoilt[at] ^= 1 << chance.randrange(8)
        found = entries(source(b"".join([*members[:hit], bytes(spoilt), *members[hit + 1 :]])))
        expected = BODIES[:hit] + BODIES[hit + 1 :]
        # A changed bit of a gzip header's time or system hurts nobody.
        assert bodies(found) in (expected, BODIES), (hit, at)
        if bodies(found) == expected:
            refused = [entry for entry in found if entry.refused]
            assert [entry.refused.reason for entry in refused] == [SkipReason.DAMAGED]
            assert refused[0].position.offset == len(b"".join(members[:hit]))


def test_damage_in_one_large_member_ends_the_reading_there(source):
    packed = bytearray(gzip.compress(b"".join(RECORDS * 20)))
    packed[len(packed) // 2] ^= 0xFF
    found, damage = until_damage(source(bytes(packed)))
    # Of one large member nothing is certain until its checksum; what was wrong may show late.
    assert bodies(found)[:20] == (BODIES * 20)[:20]
    assert len(bodies(found)) < 240
    assert f"read up to record {len(found) + 1} (byte 0 + " in str(damage)


def test_any_changed_byte_is_harmless_or_named(source):
    for packing in ("plain", "gzip, a member per record", "zstd, one frame"):
        packed = warcs.PACKINGS[packing](RECORDS[:6])
        for at in range(0, len(packed), 23):
            spoilt = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
            file = replace(source(packed), size=len(spoilt))
            file.path.write_bytes(spoilt)
            try:
                assert len(entries(file)) >= 0
            except SourceDamaged as damage:
                assert file.name in str(damage)  # noqa: PT017 - either outcome is fine, a third one is not


def test_arc_files_are_read(source):
    made = warcs.arc(
        warcs.arc_record("http://a.com/with a space", warcs.http(b"one")),
        warcs.arc_record("dns:a.com", b"20260131120000\na.com. 1 IN A 127.0.0.1\n"),
        b"http://b.com/ 127.0.0.1 20260131120000 text/html 200 - - 100 a.arc 3\nabc\n",
    )
    for pack_them in (b"".join, lambda records: b"".join(map(gzip.compress, records))):
        found = entries(source(pack_them(made), "a.arc"))
        assert [(entry.record.uri, entry.record.date) for entry in found if entry.record] == [
            ("http://a.com/with a space", "20260131120000"),
            ("dns:a.com", "20260131120000"),
            ("http://b.com/", "20260131120000"),
        ]
        assert bodies(found)[0] == warcs.http(b"one")
        assert bodies(found)[2] == b"abc"
        assert found[0].passed == "warcinfo"


def test_a_cut_arc_file_keeps_its_last_whole_record(source):
    first = warcs.arc(warcs.arc_record("http://a.com/", warcs.http(b"one")))
    last = warcs.arc_record("http://b.com/two", warcs.http(b"two " * 50))
    whole = b"".join(first)
    for end in range(1, len(last) - 1):
        found, damage = until_damage(source(whole + last[:end], "a.arc"))
        assert bodies(found) == [warcs.http(b"one")], end
        assert "read up to record 3" in str(damage)
    packed = b"".join(map(gzip.compress, first))
    for end in range(1, len(gzip.compress(last)) - 9, 3):
        found, _ = until_damage(source(packed + gzip.compress(last)[:end], "a.arc.gz"))
        assert bodies(found) == [warcs.http(b"one")], end


def test_a_byte_order_mark_before_a_record_is_passed_over(source, pack):
    found = entries(source(pack([b"\xef\xbb\xbf" + RECORDS[0], RECORDS[1], b"\xef\xbb\xbf" + RECORDS[3]])))
    assert bodies(found) == BODIES[:2]
    assert not [entry for entry in found if entry.refused]
