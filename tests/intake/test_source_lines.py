import errno
import gzip
import io
import random
import tracemalloc
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from weft.intake.import_source import ImportSource, expand
from weft.intake.source_lines import SourceLine, SourceLines
from weft.intake.source_position import BEGINNING, SourceDamaged, SourcePosition
from weft.intake.unpack.compression import Compression, compression_of

LIMIT = 1 << 20
TEXT = b"".join(b'{"url": "https://a%d.com/", "text": "%d"}\n' % (at, at**9) for at in range(12))
WORDS = [line for line in TEXT.split(b"\n") if line]


def zstd(data, **options):
    return zstandard.ZstdCompressor(**options).compress(data)


def zstd_streamed(data):
    """A frame that does not say how long its content is."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


def in_two(pack):
    return lambda data: pack(data[: len(data) // 2]) + pack(data[len(data) // 2 :])


PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "gzip of two members": in_two(gzip.compress),
    "gzip and padding": lambda data: gzip.compress(data) + bytes(1000),
    "gzip with a name": lambda data: b"\x1f\x8b\x08\x08" + bytes(6) + b"a.jsonl\0" + gzip.compress(data)[10:],
    "zstd": zstd,
    "zstd with checksum": lambda data: zstd(data, write_checksum=True),
    "zstd without size": zstd_streamed,
    "zstd of two frames": in_two(zstd_streamed),
    "zstd, fast": lambda data: zstd(data, level=-5, write_content_size=False),
    "zstd after a skipped frame": lambda data: b"\x5a\x2a\x4d\x18\x03\0\0\0abc" + zstd(data),
    "zstd, an empty frame between": lambda data: zstd(data[:9]) + zstd(b"") + zstd_streamed(b"") + zstd(data[9:]),
}


@pytest.fixture(params=PACKERS.values(), ids=list(PACKERS))
def pack(request):
    return request.param


class Slowly(io.BytesIO):
    """A pipe that gives a few bytes at a time."""

    def __init__(self, data, seed):
        super().__init__(data)
        self._random = random.Random(seed)

    def read1(self, size=-1):
        return super().read1(min(size, self._random.randint(1, 40)))


class Pipe:
    def __init__(self, data, seed=1):
        self.buffer = Slowly(data, seed)


def piped(data, start=BEGINNING, limit=LIMIT, seed=1):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Pipe(data, seed))
        return list(SourceLines(ImportSource(), limit, start))


@pytest.fixture
def source(tmp_path):
    def written(data, name="a.jsonl"):
        (tmp_path / name).write_bytes(data)
        return expand([str(tmp_path / name)])[0]

    return written


def expected(text, limit=LIMIT):
    """The same in the plainest words."""
    lines, offset = [], 0
    *ended, last = text.split(b"\n")
    for number, data in enumerate([*(line + b"\n" for line in ended), last], 1):
        line = data.removesuffix(b"\n")
        if line.strip() or len(line) > limit:
            lines.append(SourceLine(number, offset, offset + len(data), line if len(line) <= limit else None))
        offset += len(data)
    return lines


def until_damage(lines):
    """What comes before the break, and the break."""
    found = []
    with pytest.raises(SourceDamaged) as damage:
        found.extend(lines)
    return found, damage.value


def test_lines_have_numbers_and_places(source, pack):
    text = b"one\n\n  \r\nfour\r\n\nsix"
    four = SourceLine(4, 9, 15, b"four\r")
    assert list(SourceLines(source(pack(text)), LIMIT)) == [
        SourceLine(1, 0, 4, b"one"),
        four,
        SourceLine(6, 16, 19, b"six"),
    ]
    assert four.after == SourcePosition(5, 15)
    assert piped(pack(text)) == expected(text)


@pytest.mark.parametrize("text", [b"", b"\n", b"\n\n \n"])
def test_nothing_has_no_lines(source, pack, text):
    assert list(SourceLines(source(pack(text)), LIMIT)) == []
    assert piped(pack(text)) == []


@given(
    lines=st.lists(st.binary(max_size=20) | st.sampled_from([b"", b" ", b"\r", b"x" * 11]), max_size=30),
    ending=st.sampled_from([b"", b"\n"]),
    packer=st.sampled_from(sorted(PACKERS)),
    limit=st.integers(0, 12),
    seed=st.integers(0, 1000),
)
def test_any_packing_and_splitting_gives_the_same_lines(lines, ending, packer, limit, seed):
    text = b"\n".join(lines) + ending
    packed = PACKERS[packer](text)
    if packer == "plain" and compression_of(packed) is not Compression.NONE:
        return
    assert piped(packed, limit=limit, seed=seed) == expected(text, limit)


@given(
    lines=st.lists(st.sampled_from([b"", b"a", b"bc" * 20, b"\xff" * 50, b"{}"]), max_size=20),
    packer=st.sampled_from(sorted(PACKERS)),
)
def test_reading_on_from_any_line_gives_the_remaining_ones(tmp_path_factory, lines, packer):
    path = tmp_path_factory.mktemp("resumed") / "a.jsonl"
    path.write_bytes(PACKERS[packer](b"\n".join(lines)))
    file = expand([str(path)])[0]
    whole = list(SourceLines(file, 40))
    for at, line in enumerate(whole):
        assert list(SourceLines(file, 40, SourcePosition(line.number, line.offset))) == whole[at:]
        assert list(SourceLines(file, 40, line.after)) == whole[at + 1 :]
        assert piped(path.read_bytes(), line.after, 40) == whole[at + 1 :]


def test_reading_on_behind_the_end_is_damage(source, pack):
    file = source(pack(TEXT))
    start = SourcePosition(99, len(TEXT) + 7)
    assert list(SourceLines(file, LIMIT, SourcePosition(13, len(TEXT)))) == []
    found, damage = until_damage(SourceLines(file, LIMIT, start))
    assert (found, damage.reached) == ([], start)
    assert "it ends" in str(damage)


def test_reading_on_in_a_plain_file_does_not_read_what_comes_before(source):
    file = source(b"x" * 5_000_000 + b"\nlast\n")
    lines = iter(reading := SourceLines(file, LIMIT, SourcePosition(2, 5_000_001)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.intake.unpack.blocks.BLOCK", 16)
        patch.setattr("weft.intake.unpack.gunzip.BLOCK", 16)
        assert next(lines).data == b"last"
    assert reading.bytes_read == file.size


def test_reading_can_begin_again(source, pack):
    lines = SourceLines(source(pack(TEXT)), LIMIT)
    assert next(iter(lines)).data == WORDS[0]
    assert [line.data for line in lines] == [line.data for line in lines] == WORDS


def test_the_bytes_read_are_those_of_the_file(source, pack):
    file = source(pack(TEXT * 5000))
    lines = SourceLines(file, LIMIT)
    assert lines.bytes_read == 0
    seen = [lines.bytes_read for _ in lines]
    assert seen == sorted(seen)
    assert lines.bytes_read == file.size


def test_blocks_larger_than_one_are_cut_alike(source, pack):
    generator = random.Random(3)
    sizes = [1 << 20, (1 << 20) - 1, 0, 5, 3_000_000, 128 << 10, 1 << 18, 1]
    text = b"\n".join(generator.randbytes(size).replace(b"\n", b"") + b"." for size in sizes * 2)
    file = source(pack(text), "big.jsonl")
    assert list(SourceLines(file, 2 << 20)) == expected(text, 2 << 20)


# --- too long ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [b"", b"\n", b"\nnext\n"])
def test_a_line_at_the_limit_is_kept_and_one_byte_more_is_too_long(source, pack, ending):
    assert next(iter(SourceLines(source(pack(b"12345" + ending)), 5))).data == b"12345"
    lines = list(SourceLines(source(pack(b"123456" + ending)), 5))
    assert (lines[0].number, lines[0].offset, lines[0].data) == (1, 0, None)
    assert lines[0].end == 6 + ending.startswith(b"\n")
    assert [line.data for line in lines[1:]] == ending.split()


def peak_of(lines):
    """The lines without their data, and the most memory that reading them took."""
    tracemalloc.start()
    try:
        kept = [(line.number, line.offset, line.end, line.data and line.data[:9]) for line in lines]
        return kept, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_line_of_100_mb_takes_no_memory(tmp_path):
    path, size = tmp_path / "long.jsonl", 100_000_000
    with path.open("wb") as file:
        file.write(b"first\n")
        file.seek(size, io.SEEK_CUR)
        file.write(b"\nlast")
    lines, peak = peak_of(SourceLines(expand([str(path)])[0], LIMIT))
    assert lines == [(1, 0, 6, b"first"), (2, 6, size + 7, None), (3, size + 7, size + 11, b"last")]
    assert peak < 8 << 20


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_a_packed_line_of_100_mb_takes_no_memory(source, pack):
    packed = pack(b"first\n" + bytes(100_000_000) + b"\nlast")
    assert len(packed) < 200_000
    lines, peak = peak_of(SourceLines(source(packed), LIMIT))
    assert [line[3] for line in lines] == [b"first", None, b"last"]
    assert peak < 8 << 20


def test_zstd_blocks_of_one_repeated_byte_take_no_memory(source):
    """4 bytes unpack to 128 KiB: the strongest bomb that the format allows."""
    header = b"\x28\xb5\x2f\xfd\x00\x58"
    block = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"a"
    packed = header + block * 2000 + b"\x01\0\0"
    lines, peak = peak_of(SourceLines(source(packed), LIMIT))
    assert lines == [(1, 0, 2000 * 128 << 10, None)]
    assert peak < 8 << 20


def test_a_line_in_tiny_pieces_takes_no_more_memory_than_in_one(source):
    header = b"\x28\xb5\x2f\xfd\x00\x58"
    block = (2 << 3).to_bytes(3, "little") + b"ab"
    lines, peak = peak_of(SourceLines(source(header + block * 100_000 + b"\x01\0\0"), LIMIT))
    assert lines == [(1, 0, 200_000, b"ababababa")]
    assert peak < 2 << 20


def test_a_line_as_long_as_the_limit_is_held_about_twice(source):
    limit = 16 << 20
    lines, peak = peak_of(SourceLines(source(gzip.compress(b"a" * limit + b"\n" + b"b" * (limit + 1))), limit))
    assert [line[3] for line in lines] == [b"a" * 9, None]
    assert peak < 2 * limit + (8 << 20)


# --- damage -----------------------------------------------------------------------------------------------------------


def whole_lines(text):
    return [line for line in text.split(b"\n")[:-1] if line]


@pytest.mark.parametrize("compress", [gzip.compress, in_two(gzip.compress)], ids=["one member", "two members"])
def test_gzip_cut_anywhere_gives_the_whole_lines_before_the_break(source, compress):
    packed = compress(TEXT)
    first = zlib.decompressobj(31)
    first.decompress(packed)
    boundaries = {len(packed) - len(first.unused_data)}
    for size in range(len(packed)):
        file = source(packed[:size], "cut.jsonl.gz")
        if size in boundaries:
            assert (
                whole_lines(TEXT)[: len(list(SourceLines(file, LIMIT))) - 1]
                == [x.data for x in SourceLines(file, LIMIT)][:-1]
            )
            continue
        lines, damage = until_damage(SourceLines(file, LIMIT))
        assert [line.data for line in lines] == whole_lines(unpacked_gzip(packed[:size]))
        assert damage.reached == (lines[-1].after if lines else BEGINNING)
        assert str(damage).startswith(f"{file.name}: it ends inside a gzip member; read up to line {len(lines) + 1} (")


def test_gzip_cut_behind_a_few_bytes_that_mean_many_lines_gives_all_of_them(source, monkeypatch):
    monkeypatch.setattr("weft.intake.unpack.gunzip.BLOCK", 16)
    packed = gzip.compress(b"a\n" * 3000)
    for size in range(10, len(packed)):
        lines, _ = until_damage(SourceLines(source(packed[:size]), LIMIT))
        assert len(lines) == len(whole_lines(unpacked_gzip(packed[:size])))


def unpacked_gzip(data):
    text = b""
    while data:
        member = zlib.decompressobj(31)
        text += member.decompress(data)
        data = member.unused_data
    return text


@pytest.mark.parametrize("compress", [zstd, zstd_streamed, in_two(zstd_streamed)])
def test_zstd_cut_anywhere_is_damage(source, compress):
    packed = compress(TEXT)
    first = zstandard.ZstdDecompressor().decompressobj()
    first.decompress(packed)
    for size in set(range(len(packed))) - {len(packed) - len(first.unused_data)}:
        lines, damage = until_damage(SourceLines(source(packed[:size], "cut.jsonl.zst"), LIMIT))
        assert [line.data for line in lines] == WORDS[: len(lines)]
        assert "it ends inside a zstd frame" in damage.problem or "not another one" in damage.problem


def test_zstd_cut_late_gives_the_whole_lines_before_the_break(source):
    text = TEXT * 2000
    packed = zstd_streamed(text)
    lines, damage = until_damage(SourceLines(source(packed[:-5]), LIMIT))
    assert len(lines) > 0.5 * text.count(b"\n")
    assert [line.data for line in lines] == whole_lines(text)[: len(lines)]
    assert damage.reached == lines[-1].after
    lines, _ = until_damage(SourceLines(source(packed[:-1]), LIMIT))
    assert len(lines) == text.count(b"\n")


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (lambda: gzip.compress(TEXT)[:-8] + bytes(8), "incorrect data check"),
        (lambda: gzip.compress(TEXT)[:-1] + b"\xff", "incorrect length check"),
        (lambda: gzip.compress(TEXT) + b"garbage", "incorrect header check"),
        (lambda: gzip.compress(TEXT) + bytes(9) + b"garbage", "incorrect header check"),
        (lambda: zstd_streamed(TEXT)[:-1] + b"!", "checksum"),
        (lambda: zstd(TEXT) + b"garbage", "not another one"),
        (lambda: zstd(TEXT) + b"x", "not another one"),
    ],
)
def test_damage_behind_the_last_line_loses_no_line(source, spoil, problem):
    lines, damage = until_damage(SourceLines(source(spoil()), LIMIT))
    assert [line.data for line in lines] == WORDS
    assert damage.reached == SourcePosition(13, len(TEXT))
    assert problem in damage.problem
    assert "it is damaged: " in damage.problem
    assert damage.exit_code == 2


def test_damage_in_the_middle_of_gzip_keeps_what_comes_before(source):
    text = b"".join(b"%d %s\n" % (at, random.Random(at).randbytes(20).hex().encode()) for at in range(20_000))
    packed = bytearray(gzip.compress(text))
    at = len(packed) // 2
    packed[at : at + 400] = b"\xff" * 400
    lines, damage = until_damage(SourceLines(source(bytes(packed)), LIMIT))
    good = sum(1 for line, told in zip(lines, text.split(b"\n"), strict=False) if line.data == told)
    assert 9_000 < good <= len(lines)
    # What a broken member unpacks to holds empty lines as well.
    assert len(lines) < damage.reached.number < 20_000


@pytest.mark.parametrize("compress", [gzip.compress, zstd_streamed, zstd], ids=["gzip", "zstd with checksum", "zstd"])
def test_any_changed_byte_is_harmless_or_named(source, compress):
    packed = compress(TEXT)
    for at in range(4, len(packed)):
        file = source(packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :])
        try:
            assert sum(1 for _ in SourceLines(file, LIMIT)) >= 0
        except SourceDamaged as damage:
            assert damage.source == file.name  # noqa: PT017 - either outcome is fine, a third one is not


def test_a_line_that_is_too_long_and_cut_is_not_given_out(source):
    lines, damage = until_damage(SourceLines(source(gzip.compress(b"ok\n" + bytes(999))[:-9]), 5))
    assert [line.data for line in lines] == [b"ok"]
    assert damage.reached == SourcePosition(2, 3)


def test_a_disk_that_fails_is_damage(source, monkeypatch):
    file = source(TEXT)

    class Failing(io.BytesIO):
        def read1(self, size=-1):
            data = super().read1(100)
            if not data:
                raise OSError(errno.EIO, "Input/output error")
            return data

    monkeypatch.setattr(Path, "open", lambda *_: Failing(TEXT))
    lines, damage = until_damage(SourceLines(file, LIMIT))
    assert [line.data for line in lines] == WORDS
    assert damage.problem == "it cannot be read: Input/output error"
    assert isinstance(damage.__cause__, OSError)


def test_a_file_that_vanished_is_damage(source):
    file = source(TEXT)
    file.path.unlink()
    lines, damage = until_damage(SourceLines(file, LIMIT))
    assert (lines, damage.reached) == ([], BEGINNING)
    assert "No such file or directory" in str(damage)
