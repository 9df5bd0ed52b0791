"""What becomes of a server's shards when something fails: answers go on, and everything is found in the end."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree

import pytest

from support.search_servers import page
from support.search_world import STORE, SearchWorld, put_in_place
from weft import failpoints
from weft.clock import ManualClock
from weft.errors import StoreError
from weft.search.indexer import Indexer
from weft.search.query_language import parse
from weft.search.served_shards import LINGER, NotReady, ServedShards
from weft.search.server_figures import Freshness
from weft.search.shard_check import damage_of
from weft.search.shard_reader import ShardQuestion
from weft.search.shard_upkeep import ShardUpkeep

QUESTION = ShardQuestion(query=parse("fox"))


def never() -> bool:
    return False


class World(SearchWorld):
    """An index of which nobody has made shards yet, and the upkeep of them."""

    def __init__(self, path: Path, shards: int = 1) -> None:
        super().__init__(path, shards)
        self.indexer.own([])
        self.monotonic = ManualClock(5_000_000)
        self.served = ServedShards(self.indexer.directory, self.monotonic)
        self.upkeep = ShardUpkeep(self.indexer, self.served, 1, shards, self.monotonic)
        self.wanted = frozenset(range(shards))

    def grow(self, number: int) -> None:
        self.load(page(f"http://s{number}.com/", text=f"a fox number{number}"))

    def turn(self, seconds: float = 1.0) -> None:
        self.clock.advance(seconds)
        self.monotonic.advance(seconds)
        self.upkeep.turn(self.wanted, never)

    def found(self) -> int:
        return sum(self.served.reader(number).ask(QUESTION).total for number in self.wanted)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "row", shards=2)
    for number in range(5):
        made.grow(number)
    made.turn()
    yield made
    failpoints.arm("")
    made.close()


def test_figures_tell_how_far_it_is(world: World) -> None:
    world.grow(5)
    world.turn(2)
    told = world.upkeep.figures
    assert (told.row, told.count, told.shards, told.documents) == (1, 2, [0, 1], 6)
    assert (told.content, told.references, told.lag, told.lag_ms) == (6, 6, 0, 0)
    assert told.freshness == Freshness(p50=1.03, p99=2.0)
    assert (told.built, told.building, told.problem) == (2, False, "")
    world.turn(301)
    assert world.upkeep.figures.freshness.p50 is None


def test_with_a_full_disk_answers_go_on_and_it_is_tried_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    failpoints.arm("search.commit.before:1:enospc")
    world.grow(5)
    world.turn()
    assert "the disk is full; make room" in world.upkeep.figures.problem
    told = world.upkeep.figures
    assert (told.shards, told.content, told.lag, world.upkeep.owned) == ([0, 1], 5, 1, frozenset())
    assert world.found() == 5
    world.turn(0.5)
    assert world.upkeep.figures.problem, "not before its time"
    assert world.upkeep.figures.lag_ms == 1500
    world.turn()
    assert (world.upkeep.figures.problem, world.upkeep.owned) == ("", frozenset([0, 1]))
    assert world.found() == 6
    assert world.held() == world.expected()
    (complaint,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert complaint.startswith("search index not written, answers go on reason=search index")


def test_a_disk_that_stays_full_is_tried_less_and_less_often(world: World) -> None:
    world.grow(5)
    tries = 0
    for _ in range(300):
        failpoints.arm("search.commit.before:1:enospc")
        before = world.upkeep._again_at
        world.turn()
        tries += world.upkeep._again_at != before
    assert 5 < tries < 15
    assert world.found() == 5
    failpoints.arm("")
    world.turn(61)
    assert world.found() == 6


def test_a_store_that_does_not_answer_is_waited_for_also_by_a_server_that_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise StoreError("of the cluster", "it does not answer")

    world.grow(5)
    with monkeypatch.context() as away:
        away.setattr(world.store, "refresh", refuse)
        world.turn()
        assert "does not answer" in world.upkeep.figures.problem
        world.monotonic.advance(10)
        assert not world.upkeep.finish(world.wanted, never)
        assert world.found() == 5
    world.monotonic.advance(60)
    assert world.upkeep.finish(world.wanted, never)
    assert world.found() == 6


def test_an_error_that_nobody_thought_of_does_not_stop_it(world: World) -> None:
    failpoints.arm("search.put:1:error")
    world.grow(5)
    world.turn()
    assert "armed to fail" in world.upkeep.figures.problem
    world.turn(2)
    assert world.held() == world.expected()


def test_a_shard_that_a_question_found_damaged_is_checked_and_built_anew(world: World) -> None:
    for file in world.directories()[1].current().glob("*.pos"):
        put_in_place(file, b"x" + file.read_bytes()[1:])
    world.turn()
    assert world.upkeep.dropped == 0, "nobody has looked"
    world.served.suspect(0)
    world.served.suspect(1)
    world.turn()
    assert (world.upkeep.figures.built, world.upkeep.dropped) == (3, 1)
    assert world.held() == world.expected()
    assert world.found() == 5


def test_a_question_that_fails_for_itself_builds_nothing(world: World) -> None:
    for _ in range(3):
        world.served.suspect(0)
        world.turn()
    assert (world.upkeep.figures.built, world.upkeep.dropped) == (2, 0)


def test_what_cannot_be_opened_is_built_anew(world: World) -> None:
    world.upkeep.close()
    for directory in world.directories():
        (directory.current() / "meta.json").write_text("nonsense")
    world.turn()
    assert world.upkeep.figures.built == 4
    assert world.held() == world.expected()


def test_a_shard_that_another_process_holds_is_answered_for_and_taken_later(world: World) -> None:
    world.upkeep.close()
    other = Indexer(world.store, world.path, STORE, world.settings, world.clock)
    other.own([0])
    world.turn()
    assert world.upkeep.owned == {1}
    assert world.found() == 5
    world.grow(5)
    other.finish()
    other.close()
    world.turn()
    assert world.upkeep.owned == {0, 1}
    assert world.held() == world.expected()


def test_a_shard_that_went_to_another_server_is_answered_for_a_while(world: World) -> None:
    world.wanted = frozenset([1])
    world.turn()
    assert world.upkeep.figures.shards == [1]
    other = Indexer(world.store, world.path, STORE, world.settings, world.clock)
    other.own([0])
    for number in range(5, 9):
        world.grow(number)
    other.finish()
    world.turn()
    assert world.served.reader(0).ask(QUESTION).total + world.served.reader(1).ask(QUESTION).total == 9
    world.turn(LINGER / 1000)
    with pytest.raises(NotReady):
        world.served.reader(0)
    other.close()


@pytest.fixture
def asks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build looks after every ten documents, not after a thousand, whether it is to stop."""
    monkeypatch.setattr("weft.search.indexer._TELL_EVERY", 10)


@pytest.mark.usefixtures("asks_often")
def test_a_build_is_stopped_when_a_shard_is_ours_no_longer(tmp_path: Path) -> None:
    world = World(tmp_path / "row", shards=2)
    world.load(*(page(f"http://s{number}.com/", text="a fox") for number in range(12)))
    for directory in world.directories():
        (directory.path / "current").unlink()
    world.upkeep.turn([0, 1], lambda: True)
    assert world.upkeep.owned == frozenset()
    world.turn()
    assert world.found() == 12
    assert world.held() == world.expected()
    world.close()


@pytest.mark.usefixtures("asks_often")
def test_shards_that_are_taken_while_a_build_is_stopped_lose_nothing(world: World) -> None:
    """One can be opened, the other must be built: what the first has missed is read, though the build was stopped."""
    world.upkeep.close()
    _, second = world.directories()
    world.load(*(page(f"http://n{number}.com/", text="a fox") for number in range(60)))
    (second.current() / "meta.json").write_text("nonsense")
    world.upkeep.turn([0, 1], lambda: True)
    assert world.indexer.shards == {0}
    world.upkeep.turn([0], never)
    world.turn()
    world.indexer.finish()
    assert world.held() == world.expected()


def test_it_is_finished_when_everything_is_in_all_of_its_shards(world: World) -> None:
    world.load(page("http://a.com/", "http://b.com/", "http://c.com/", text="a fox"))
    turns = 0
    while not world.upkeep.finish(world.wanted, never):
        turns += 1
        assert turns < 10
    assert world.held() == world.expected()
    assert "com.b" in world.held()


def test_checksums_tell_which_file_is_damaged(world: World, tmp_path: Path) -> None:
    # Of a copy: the open index has its files mapped, and whoever reads what was cut off a mapped file is killed.
    current = copytree(world.directories()[0].current(), tmp_path / "copy")
    assert damage_of(current) == ""
    for suffix in (".term", ".pos", ".idx", ".fast", ".store"):
        file = next(current.glob(f"*{suffix}"))
        content = file.read_bytes()
        put_in_place(file, bytes([content[0] ^ 1]) + content[1:])
        assert damage_of(current)
        put_in_place(file, content[:-7])
        assert damage_of(current)
        file.unlink()
        assert damage_of(current)
        put_in_place(file, content)
        assert damage_of(current) == ""
