"""From sources to blocks: in order, with exact places to go on from."""

import json
from itertools import pairwise
from typing import Any

import pytest

from support import warcs
from support.suites import suites_folder
from weft.config.sections import LimitsSettings
from weft.intake.import_source import expand
from weft.intake.page_parser import PageParser
from weft.intake.page_reader import PageReader
from weft.intake.parser_pool import ReadyAnswer
from weft.intake.source_position import BEGINNING, SourceDamaged
from weft.reading.settings import ReadingSettings

LIMITS = LimitsSettings()
SETTINGS = ReadingSettings((), 2048, LIMITS, 10 << 20, "weft")


class Here:
    """Parses at once, in this process."""

    def __init__(self):
        self._parser = PageParser(SETTINGS)

    def give(self, task):
        return ReadyAnswer(self._parser.answer(task))


@pytest.fixture
def source(tmp_path):
    def written(data, name="a.warc"):
        path = tmp_path / name
        path.write_bytes(data)
        return expand([str(path)])[0]

    return written


def reader(round_pages=1000):
    return PageReader(Here(), LIMITS, round_pages)


def lines(count):
    return [json.dumps({"url": f"https://s{n % 5}.com/{n}", "links": ["/"]}).encode() + b"\n" for n in range(count)]


KINDS = {"a.jsonl": lambda count: b"".join(lines(count)), "a.warc": lambda count: b"".join(warcs.pages(count))}


@pytest.mark.parametrize("name", KINDS)
def test_blocks_hold_all_pages_and_going_on_after_any_gives_the_rest(source, name):
    file = source(KINDS[name](150), name)
    blocks = list(reader().blocks(file, 0))
    assert len(blocks) >= 5
    assert all(left.uri <= right.uri for block in blocks for left, right in pairwise(block.pages))
    versions = [[(page.uri, page.version) for page in block.pages] for block in blocks]
    assert sorted(uri for block in versions for uri, _ in block) == sorted(
        f"com.s{n % w}/{n}".encode() for n in range(150) for w in [5 if "json" in name else 7]
    )
    for number, block in enumerate(blocks, 1):
        rest = list(reader().blocks(file, 0, block.after))
        assert [[(page.uri, page.version) for page in later.pages] for later in rest if later.pages] == [
            block for block in versions[number:] if block
        ]
    assert [block.bytes_read for block in blocks] == sorted(block.bytes_read for block in blocks)
    assert blocks[-1].bytes_read == file.size


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("most", [1, 2, 31, 32, 33, 149, 150, 151])
def test_the_first_so_many_pages_are_the_first_of_the_file(source, name, most):
    file = source(KINDS[name](150), name)
    found = [page.uri for block in reader(most).blocks(file, 0, pages=most) for page in block.pages]
    numbers = sorted(int(uri.rpartition(b"/")[2]) for uri in found)
    assert numbers == list(range(min(most, 150)))


@pytest.mark.parametrize(("round_pages", "largest"), [(1, 1), (20, 20), (50, 25), (100, 25), (1000, 32)])
def test_blocks_fit_into_rounds(source, round_pages, largest):
    blocks = list(reader(round_pages).blocks(source(KINDS["a.jsonl"](200), "a.jsonl"), 0))
    assert max(len(block.pages) for block in blocks) == largest


def test_what_was_skipped_and_passed_is_told_where_it_stands(source):
    bad = warcs.record("response", "https://bad.com/", b"rubbish")
    short = warcs.record("response", "https://short.com/", warcs.http(b"x"), length=3)
    good = warcs.response("https://a.com/", warcs.page(1))
    (block,) = reader().blocks(
        source(b"".join([good, bad, short, *warcs.pages(2), warcs.response("ftp://x/", b"")])), 0
    )
    assert [(skipped.position.number, skipped.refused.reason) for skipped in block.skipped] == [
        (2, "not HTTP"),
        (3, "wrong length"),
    ]
    assert block.skipped[0].position.offset == len(good)
    assert block.passed == {"request": 2, "response of another scheme": 1}
    assert len(block.pages) == 3
    assert block.after.number == 9


def test_a_page_limit_leaves_out_what_was_skipped_behind_it(source):
    file = source(b"".join([*lines(2), b"{\n", *lines(1)]), "a.jsonl")
    (block,) = reader().blocks(file, 0, pages=2)
    assert (len(block.pages), block.skipped) == (2, [])
    (block,) = reader().blocks(file, 0, pages=3)
    assert (len(block.pages), len(block.skipped)) == (3, 1)


def test_damage_comes_after_all_whole_pages(source):
    blocks = []
    try:
        for block in reader().blocks(source(KINDS["a.warc"](100)[:-20]), 0):
            blocks.append(block)  # noqa: PERF402 - what came before the damage is wanted
        pytest.fail("it was read to its end")
    except SourceDamaged as damage:
        assert damage.reached == blocks[-1].after  # noqa: PT017
    assert sum(len(block.pages) for block in blocks) == 99


def test_tasks_on_their_way_are_dropped_when_nobody_wants_more(source):
    dropped = []

    class Counted(ReadyAnswer):
        def drop(self):
            dropped.append(self)

    class Counting(Here):
        def give(self, task):
            return Counted(super().give(task).take())

    reading: Any = PageReader(Counting(), LIMITS).blocks(source(KINDS["a.warc"](3000)), 0)
    next(reading)
    reading.close()
    assert len(dropped) == 64


EXPECTED = {
    # pages, of them removed, references, skipped, passed over; -1: cannot be read to its end
    "cc-whirlwind/whirlwind.warc": (1, 0, 158, 0, 3),
    "cc-whirlwind/whirlwind.warc.gz": (1, 0, 158, 0, 3),
    "cc-whirlwind/whirlwind.warc.wat": (0, 0, 0, 0, 2),
    "cc-whirlwind/whirlwind.warc.wat.gz": (0, 0, 0, 0, 2),
    "cc-whirlwind/whirlwind.warc.wet": (0, 0, 0, 0, 2),
    "cc-whirlwind/whirlwind.warc.wet.gz": (0, 0, 0, 0, 2),
    "iana.warc.gz": (47, 31, 2653, 0, 296),
    "warcio/bad.arc": (0, 0, 0, 1, 0),
    "warcio/example-bad-non-chunked.warc.gz": (1, 0, 1, 0, 5),
    "warcio/example-bad.warc.gz.bad": (2, 1, 1, 0, 4),
    "warcio/example-digest.warc": (0, 0, 0, 0, 4),
    "warcio/example-iana.org-chunked.warc": (1, 0, 24, 0, 2),
    "warcio/example-resource.warc.gz": (1, 0, 1, 0, 2),
    "warcio/example-space-in-target-uri.warc.gz": (0, 0, 0, 0, 2),
    "warcio/example-space-in-url.arc": (0, 0, 0, 0, 1),
    "warcio/example-trunc.warc": (0, 0, 0, 1, 3),
    "warcio/example-wget-bad-target-uri.warc.gz": (1, 0, 1, 0, 5),
    "warcio/example-wrong-chunks.warc.gz": (1, 0, 1, 0, 1),
    "warcio/example.arc": (1, 0, 1, 0, 1),
    "warcio/example.arc.gz": (1, 0, 1, 0, 1),
    "warcio/example.warc": (1, 0, 1, 0, 5),
    "warcio/example.warc.gz": (1, 0, 1, 0, 5),
    "warcio/post-test.warc.gz": (3, 3, 0, 0, 3),
    "webindex/wat-18.warc": (5, 1, 306, 0, 13),
    "webindex/wat.warc": (1, 0, 4, 0, 0),
}
BROKEN = {"warcio/bad.arc", "warcio/example-space-in-url.arc"}


def counted(source):
    pages, skipped, passed = [], 0, 0
    is_broken = False
    try:
        for block in reader().blocks(source, 0, BEGINNING):
            pages += block.loads
            skipped += len(block.skipped)
            passed += block.passed.total()
    except SourceDamaged:
        is_broken = True
    references = sum(len(page.outlinks.targets) for page in pages)
    return (len(pages), sum(page.is_gone for page in pages), references, skipped, passed), is_broken


@pytest.mark.parametrize("name", EXPECTED)
def test_published_archives_give_what_is_in_them(name):
    path = suites_folder() / "warc" / name
    if not path.exists():
        pytest.skip(f"no conformance data at {path}")
    assert counted(expand([str(path)])[0]) == (EXPECTED[name], name in BROKEN)


def test_no_published_archive_is_left_out():
    folder = suites_folder() / "warc"
    if not folder.exists():
        pytest.skip(f"no conformance data at {folder}")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {name for name in found if not name.endswith((".txt", "LICENSE"))} == set(EXPECTED)
