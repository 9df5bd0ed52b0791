"""What is dropped of an archive: never what the index needs, and as much of the rest as the settings say."""

from __future__ import annotations

import fcntl
import json
import os
import random
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from support.built_world import RULES, World
from support.exchanges import exchange
from weft import failpoints
from weft.archive import cdxj
from weft.archive.archive_errors import ArchiveError, RecordDropped, RecordUnreadable
from weft.archive.archive_writer import ArchiveOptions, ArchiveWriter
from weft.archive.cdxj import RecordPosition
from weft.archive.compaction import complete_files, listed
from weft.archive.crash_recovery import recover
from weft.archive.record_reader import read_record
from weft.clock import ManualClock
from weft.config import Settings
from weft.config.sections import ArchiveSettings
from weft.index.archive_reader import ArchiveReader
from weft.index.fetch_reader_pool import ReaderSettings
from weft.index.prune_archive import Needed, Pruned, archive_bytes, needed_by, prune_archive
from weft.index.verify_archive import verify_archive

DAY = 86_400
STEPS = ("copied", "indexed", "switched", "unlisted", "removed")


class PrunedWorld(World):
    """Its files are small, and complete as soon as they are full."""

    def __init__(self, place: Path, roll_bytes: int = 3000) -> None:
        super().__init__(place)
        self.options = ArchiveOptions(roll_bytes=roll_bytes)
        self.begin_archive()
        self.urls: list[str] = []
        self.positions: list[RecordPosition] = []

    @property
    def warc(self) -> Path:
        return self.place / "warc"

    def begin_archive(self) -> None:
        self.archive.close()
        self.archive = ArchiveWriter(self.warc, self.options, self.clock)

    def visit(self, url: str, text: str, **about: Any) -> None:
        """Fetch a page, again if it is known, and load it."""
        if url in self.urls:
            self.clock.advance(DAY)
            self.fetch_again(url, f"<title>{text}</title><p>{text}", **about)
        else:
            self.urls.append(url)
            self.fetch(url, f"<title>{text}</title><p>{text}", **about)
        self.build()
        record = self.record(url)
        assert record is not None
        if record.position is not None:
            at = record.position
            self.positions.append(RecordPosition(at.file, at.offset, at.length))
        for file in self.archive.take_rolled():
            file.release()

    def prune(self, *, worth: float = 0.0, is_dry: bool = False, **bounds: int) -> Pruned:
        return prune_archive(
            self.warc,
            ArchiveSettings(**bounds),
            lambda: needed_by(self.mgmt, lambda: nullcontext(self.store)),
            self.place,
            self.clock.now(),
            worth=worth,
            is_dry=is_dry,
        )

    def check(self) -> None:
        """Every page of the index is what its record says, and every line of an index names a record."""
        archive = ArchiveReader(ReaderSettings.from_settings(Settings(), RULES, self.warc))
        found = verify_archive(self.store, lambda fetches: ((fetch, archive.read(fetch)) for fetch in fetches))
        assert found.examples == []
        assert found.records >= len(self.urls)
        for url in self.urls:
            record = self.record(url)
            assert record is not None
            for kept in (record.position, record.decided_position):
                if kept is not None:
                    read_record(self.warc, RecordPosition(kept.file, kept.offset, kept.length))
        for index in self.warc.glob("*.cdxj"):
            for line in index.read_bytes().splitlines():
                fields = json.loads(line[line.index(b"{") :])
                at = RecordPosition(fields["filename"], int(fields["offset"]), int(fields["length"]))
                assert (self.warc / at.file).exists()
                assert read_record(self.warc, at).url == fields["url"]

    def is_there(self, position: RecordPosition) -> bool:
        try:
            read_record(self.warc, position)
        except RecordDropped:
            return False
        return True

    def captures(self) -> int:
        return sum(1 for index in self.warc.glob("*.cdxj*") for _ in listed(index))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PrunedWorld]:
    with closing(PrunedWorld(tmp_path)) as made:
        yield made


def random_text(seed: int, size: int = 400) -> str:
    """Nothing that gzip makes small."""
    letters = random.Random(seed)
    return "".join(letters.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(size))


def crawl(world: PrunedWorld, pages: int = 3, times: int = 8) -> None:
    world.visit("https://old.com/", "fetched once")
    for time in range(times):
        for page in range(pages):
            world.visit(f"https://a{page}.com/", random_text(time * 100 + page))


def test_without_a_bound_nothing_goes(world: PrunedWorld) -> None:
    crawl(world)
    before = world.captures()
    assert world.prune() == Pruned(size=archive_bytes(world.warc))
    assert world.captures() == before


def test_old_captures_go_and_the_present_one_of_each_page_stays(world: PrunedWorld) -> None:
    crawl(world)
    size = archive_bytes(world.warc)
    done = world.prune(keep_days=3)
    assert done.captures >= 20
    maps = sum(file.stat().st_size for file in world.warc.glob("*.kept"))
    assert size - archive_bytes(world.warc) == done.freed - maps > 0
    assert done.size == archive_bytes(world.warc)
    world.check()
    assert [world.is_there(at) for at in world.positions[:4]] == [True, False, False, False]
    assert world.is_there(world.positions[-2])


def test_only_so_many_captures_of_a_page_stay(world: PrunedWorld) -> None:
    crawl(world)
    done = world.prune(keep_captures=2)
    world.check()
    assert done.captures > 0
    world.begin_archive()
    world.prune(keep_captures=2)
    assert world.captures() == 7
    assert [world.is_there(at) for at in world.positions[-9:]] == [False] * 3 + [True] * 6


def test_above_a_size_the_oldest_captures_go(world: PrunedWorld) -> None:
    crawl(world, times=20)
    bound = archive_bytes(world.warc) // 2
    done = world.prune(keep_bytes=bound)
    assert done.captures > 0
    assert bound * 0.6 < archive_bytes(world.warc) <= bound + 2000
    world.check()
    there = [world.is_there(at) for at in world.positions]
    assert there[0]
    assert there[1:] == sorted(there[1:])


def test_a_bound_that_is_too_small_for_what_is_needed_leaves_that(world: PrunedWorld) -> None:
    crawl(world)
    world.prune(keep_bytes=1)
    world.check()
    world.begin_archive()
    world.prune(keep_bytes=1)
    assert world.captures() == 4


def test_a_dry_run_says_what_goes_and_drops_nothing(world: PrunedWorld) -> None:
    crawl(world)

    def contents() -> list[tuple[str, bytes]]:
        return sorted((file.name, file.read_bytes()) for file in world.warc.glob("weft-*"))

    before = contents()
    told = world.prune(keep_captures=1, is_dry=True)
    assert contents() == before
    done = world.prune(keep_captures=1)
    assert (told.captures, told.files) == (done.captures, done.files)
    assert 0.7 < told.freed / done.freed < 1.4


def test_pruned_again_nothing_more_goes_and_positions_still_hold(world: PrunedWorld) -> None:
    crawl(world)
    assert world.prune(keep_captures=2).files
    names = sorted(file.name for file in world.warc.iterdir())
    assert world.prune(keep_captures=2).files == 0
    assert sorted(file.name for file in world.warc.iterdir()) == names
    world.visit("https://old.com/", "fetched again")
    crawl(world, times=4)
    assert world.prune(keep_captures=2).files
    assert [name for name in names if ".r1." in name]
    assert list(world.warc.glob("*.r1.warc.gz"))
    world.prune(keep_captures=1)
    assert list(world.warc.glob("*.r2.warc.gz"))
    world.check()


def test_what_is_not_built_yet_stays(world: PrunedWorld) -> None:
    crawl(world)
    world.clock.advance(DAY)
    world.fetch_again("https://a0.com/", f"<p>{random_text(1)}")
    for number in range(12):
        world.fetch(f"https://filler{number}.com/", random_text(number))
    world.begin_archive()
    world.clock.advance(100 * DAY)
    world.prune(keep_days=1, keep_captures=1, keep_bytes=1)
    world.urls += [f"https://filler{number}.com/" for number in range(12)]
    while world.build().results:
        pass
    assert not any(world.record(url).error for url in world.urls)
    world.check()


def test_the_capture_that_a_kept_revisit_repeats_stays(world: PrunedWorld) -> None:
    same = random_text(5)
    world.visit("https://same.com/", same)
    first = world.positions[-1]
    world.visit("https://same.com/", same)
    assert read_record(world.warc, world.positions[-1]).is_revisit
    world.visit("https://same.com/", same)
    crawl(world)
    world.clock.advance(100 * DAY)
    world.prune(keep_days=1, keep_captures=1, keep_bytes=1)
    assert world.is_there(first)
    assert not world.is_there(world.positions[1])
    world.check()


def test_a_revisit_never_repeats_a_record_of_another_file(world: PrunedWorld) -> None:
    same = random_text(5)
    for number in range(12):
        world.visit("https://same.com/", same)
        world.visit(f"https://other{number}.com/", random_text(number, 1200))
    assert len(complete_files(world.warc)) > 2
    firsts = [min((one for one in listed(file)), key=lambda one: one.offset) for file in world.warc.glob("*.cdxj*")]
    assert any(not one.is_revisit for one in firsts)
    for index in sorted(world.warc.glob("*.cdxj*")):
        mine = [one for one in listed(index) if b"same" in one.key]
        assert not mine or not min(mine, key=lambda one: one.offset).is_revisit


@pytest.mark.parametrize("is_open", [False, True])
def test_a_revisit_of_another_file_keeps_what_it_repeats(tmp_path: Path, is_open: bool) -> None:
    """It was rendered before its original's file was complete, or an older weft wrote it."""
    clock = ManualClock(1_770_000_000_000)
    archive = ArchiveWriter(tmp_path / "warc", ArchiveOptions(roll_bytes=3000), clock)
    same = exchange("https://same.com/", b"the same" * 100)
    [first] = archive.store([same])
    revisit = archive.render(same)
    others = [exchange(f"https://o{n}.com/", random_text(n, 1000).encode()) for n in range(8)]
    dropped = archive.store(others)[0]
    [position] = archive.store([revisit])
    assert position.file != first.file
    if not is_open:
        archive.close()
    for file in archive.take_rolled():
        file.release()
    needed = Needed()
    if not is_open:
        needed.add(position.file, position.offset)
    prune_archive(tmp_path / "warc", ArchiveSettings(keep_bytes=1), lambda: needed, tmp_path, clock.now(), worth=0)
    assert read_record(tmp_path / "warc", first).body == b"the same" * 100
    assert read_record(tmp_path / "warc", position).body == b"the same" * 100
    with pytest.raises(RecordDropped):
        read_record(tmp_path / "warc", dropped)


def test_304s_go_with_age_and_number_but_the_last_one_stays(world: PrunedWorld) -> None:
    world.visit("https://a.com/", random_text(1), etag='"1"')
    for _ in range(20):
        world.clock.advance(DAY)
        world.fetch_again("https://a.com/", "", status=304)
        world.build()
    last = world.record("https://a.com/")
    assert last is not None
    assert last.position is not None
    world.urls = ["https://a.com/"]
    world.begin_archive()
    for file in world.warc.glob("*.warc.gz"):
        os.utime(file, (world.clock.now() / 1000 - 2 * DAY,) * 2)
    size = archive_bytes(world.warc)
    world.prune(keep_days=1)
    assert archive_bytes(world.warc) < size / 2
    world.check()


def test_a_file_that_is_being_written_or_reported_is_left_alone(world: PrunedWorld) -> None:
    crawl(world, times=2)
    [*_, last] = sorted(world.warc.glob("*.warc.gz"))
    assert not cdxj.index_of(last).exists()
    with complete_files(world.warc)[0].open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        world.prune(keep_bytes=1)
        assert Path(held.name).exists()
    world.prune(keep_bytes=1)
    assert not Path(held.name).exists()
    assert last.exists()


def test_the_writer_holds_a_complete_file_until_it_is_released(world: PrunedWorld) -> None:
    for number in range(20):
        world.fetch(f"https://a{number}.com/", random_text(number))
    assert len(list(world.warc.glob("*.cdxj"))) >= 2
    assert complete_files(world.warc) == []
    for file in world.archive.take_rolled():
        file.release()
    assert complete_files(world.warc)


def test_only_one_process_prunes_at_a_time(world: PrunedWorld) -> None:
    crawl(world)
    with (world.warc / "prune.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ArchiveError, match="another process is pruning it"):
            world.prune(keep_bytes=1)


def test_a_file_is_copied_by_itself_only_if_much_of_it_goes(world: PrunedWorld) -> None:
    crawl(world)
    assert world.prune(keep_captures=7, worth=0.9).files == 0
    assert world.prune(keep_captures=7, worth=0.0).files > 0


def test_a_needed_record_that_is_damaged_leaves_its_file_as_it_is(world: PrunedWorld) -> None:
    crawl(world)
    world.begin_archive()
    for page in (0, 1, 1):
        world.visit(f"https://a{page}.com/", random_text(9000 + len(world.positions)))
    last = world.record("https://a0.com/")
    assert last is not None
    assert last.position is not None
    world.begin_archive()
    file = world.warc / last.position.file
    data = bytearray(file.read_bytes())
    data[last.position.offset + 20] ^= 0xFF
    file.write_bytes(data)
    done = world.prune(keep_bytes=1)
    assert file.read_bytes() == data
    assert [file.name in problem for problem in done.problems] == [True]


def test_what_others_put_into_the_directory_stays(world: PrunedWorld) -> None:
    crawl(world)
    other = world.warc / "other-20260101000000.warc.gz"
    other.write_bytes(b"not ours")
    world.prune(keep_bytes=1)
    assert other.read_bytes() == b"not ours"


def test_a_missing_file_is_still_missing(world: PrunedWorld) -> None:
    with pytest.raises(RecordUnreadable, match="No such file") as raised:
        read_record(world.warc, RecordPosition("weft-1.warc.gz", 0, 10))
    assert not isinstance(raised.value, RecordDropped)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [1, 3])
def test_interrupted_after_any_step_nothing_is_lost_and_the_next_one_finishes(
    world: PrunedWorld, step: str, number: int
) -> None:
    crawl(world)
    failpoints.arm(f"archive.{step}:{number}:error")
    try:
        with pytest.raises(failpoints.InjectedError):
            world.prune(keep_captures=1)
    finally:
        failpoints.arm("")
    world.check()
    recover(world.warc)  # as a spider does that starts now
    world.check()
    world.prune(keep_captures=1)
    world.check()
    world.begin_archive()
    world.prune(keep_captures=1)
    assert world.captures() == 4
    assert [file.name for file in world.warc.iterdir() if ".new" in file.name] == []
    assert all(cdxj.index_of(file).exists() for file in world.warc.glob("*.warc.gz"))
