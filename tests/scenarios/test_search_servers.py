"""Index servers as processes: killed, stopped, joined and left, while somebody searches all the time."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from support.search_servers import SearchHome, search_home
from weft.search.query_language import parse
from weft.search.shard_reader import ShardQuestion

QUESTION = ShardQuestion(query=parse("everywhere"), most=10)


class Searching:
    """Somebody who searches without a pause."""

    def __init__(self, world: SearchHome) -> None:
        self._shards = world.shards()
        self._stop = Event()
        self.searches, self.partial, self.failed = 0, 0, list[BaseException]()
        self.slowest, self.fewest = 0.0, 10**9
        self._thread = Thread(target=self._search)

    def _search(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                answers = self._shards.ask(QUESTION)
            except Exception as error:
                self.failed.append(error)
                continue
            self.searches += 1
            self.partial += None in answers
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.fewest = min(self.fewest, sum(answer.total for answer in answers if answer))
            time.sleep(0.005)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        self._shards.close()


@contextmanager
def searching(world: SearchHome) -> Iterator[Searching]:
    """Every search is answered by all shards."""
    made = Searching(world)
    made.start()
    try:
        yield made
    finally:
        made.stop()
    assert not made.failed, made.failed[0]
    assert made.partial == 0
    assert made.searches > 20


POINTS = [
    "search.put:3:kill",
    "search.commit.before:2:kill",
    "search.commit.after:2:kill",
    "search.build:1:kill",
    "search.switch.before:1:kill",
    "search.switch.after:1:kill",
    "search.switch.after:2:kill",
]


def test_a_server_may_be_killed_anywhere_and_every_page_is_found_once(tmp_path: Path) -> None:
    with search_home(tmp_path, indexserver__shards=2) as world:
        world.load(1200)
        for number, point in enumerate(POINTS):
            if "build" in point or "switch" in point:
                world.tell_all_changed()
            world.start("one", fail=point)
            # Changes and new pages, until it is hit.
            for turn in range(1000):
                world.load(20, at=2 + 100 * number + turn, first=turn * 10)
                if world.servers["one"].poll() is not None:
                    break
                time.sleep(0.05)
            assert world.wait_for_death("one") == -signal.SIGKILL, world.log()
        world.start("one")
        world.wait_until_complete("one")
        assert world.held() == world.expected()
        assert world.stop("one") == 0
        # And as a row that was built in one go has it.
        world.start("new", row=2)
        world.wait_until_complete("new")
        assert world.held(2) == world.held(1)
        assert not world.complaints("new")


@pytest.mark.parametrize("kills", [3, pytest.param(30, marks=pytest.mark.long)])
def test_while_servers_of_one_row_are_killed_frozen_and_moved_every_search_is_whole(tmp_path: Path, kills: int) -> None:
    with search_home(tmp_path, indexserver__shards=4) as world:
        world.load(200)
        names = {"a1": 1, "b1": 1, "a2": 2, "b2": 2}
        for name, row in names.items():
            world.start(name, row)
        world.wait_until_complete("a1", "b1")
        world.wait_until_complete("a2", "b2")
        assert len(world.shards_of("a1")) == 2
        with searching(world) as found:
            for turn in range(kills):
                victim = ("a1", "b1")[turn % 2]
                world.kill(victim)
                world.load(50, at=2 + turn, first=turn % 8 * 25)
                time.sleep(0.3)
                world.start(victim, 1)
                world.wait_until_complete("a1", "b1")
            # One that is frozen is waited for a moment, then the other row is asked.
            world.signal("a2", signal.SIGSTOP)
            before, found.slowest = found.searches, 0.0
            world.wait_for(lambda: found.searches >= before + 20, "searches")
            assert found.slowest < 2
            world.signal("a2", signal.SIGCONT)
            # A third server joins the row, and takes its share; then it leaves.
            world.start("c1", 1)
            world.wait_for(lambda: world.shards_of("c1"), "the third server to get a shard")
            world.load(50, at=100, first=500)
            world.wait_until_complete("a1", "b1", "c1")
            assert world.stop("c1") == 0
            world.wait_until_complete("a1", "b1")
            world.wait_until_complete("a2", "b2")
        assert found.fewest >= 200
        assert world.held(1) == world.held(2) == world.expected()


def test_what_is_built_anew_answers_all_the_time_and_a_full_disk_does_too(tmp_path: Path) -> None:
    with search_home(tmp_path, indexserver__shards=2) as world:
        world.load(1500)
        # The first two builds and the first commits are at the start; then the disk is full for one commit.
        world.start("one", fail="search.commit.before:5:enospc,search.build:2:sleep=1")
        world.wait_until_complete("one")
        with searching(world) as found:
            world.tell_all_changed()
            world.wait_for(lambda: world.figures("one").get("building"), "the build to begin")
            before = found.searches
            world.wait_for(lambda: world.figures("one").get("built") == 4, "the build to end")
            assert found.searches > before + 10
            world.wait_until_complete("one")
            world.load(10, at=5, first=0)
            world.wait_for(lambda: "not written, answers go on" in world.said("one").read_text(), "the full disk")
            world.wait_until_complete("one")
        assert found.fewest >= 1500
        assert world.held() == world.expected()
        assert world.figures("one")["problem"] == ""


def test_a_damaged_shard_is_noticed_by_those_who_search_and_built_anew(tmp_path: Path) -> None:
    with search_home(tmp_path) as world:
        world.load(300)
        world.start("one")
        world.wait_until_complete("one")
        assert world.stop("one") == 0
        for file in world.home.search_row(1).rglob("*.store"):
            # Where documents are kept: nothing but an answer reads it.
            content = bytearray(file.read_bytes())
            content[: len(content) // 2] = b"\xff" * (len(content) // 2)
            file.write_bytes(content)
        world.start("one")
        world.wait_for(lambda: world.figures("one").get("shards"), "the server to answer")
        shards = world.shards()

        def is_mended() -> bool:
            shards.ask(QUESTION)
            return bool(world.figures("one").get("built"))

        world.wait_for(is_mended, "the damage to be noticed")
        world.wait_until_complete("one")
        shards.refresh()
        (answer,) = shards.ask(QUESTION)
        assert answer is not None
        assert answer.total == 300
        assert "shard damaged, building it anew shard=0 reason=" in world.said("one").read_text(), world.log()
        assert world.held() == world.expected()


def test_a_server_that_is_stopped_makes_everything_searchable_first(tmp_path: Path) -> None:
    with search_home(tmp_path, indexserver__commit_every=30.0, indexserver__anchors_every=600.0) as world:
        world.start("one")
        world.wait_until_complete("one")
        world.load(2000)
        assert world.stop("one") == 0
        assert world.held() == world.expected()


def test_on_a_disk_that_is_really_full_answers_go_on_until_there_is_room(
    tmp_path: Path, make_disk: Callable[[str], Path]
) -> None:
    disk = make_disk("4m")
    with search_home(tmp_path, indexserver__shards=2) as world:
        (world.home.path / "search").symlink_to(disk)
        world.start("one")
        world.load(200)
        world.wait_until_complete("one")
        with searching(world) as found:
            for turn in range(100):
                words = " ".join(f"word{turn}x{number}" for number in range(300))
                world.load(300, first=200 + turn * 300, words=f"everywhere {words}")
                time.sleep(0.2)
                if problem := world.figures("one")["problem"]:
                    break
            assert problem.endswith("the disk is full; make room and try again"), world.log()
            before = found.searches
            world.wait_for(lambda: found.searches > before + 20, "searches")
            subprocess.run(["mount", "-o", "remount,size=256m", disk], check=True)
            world.wait_until_complete("one")
        assert found.fewest >= 200
        assert world.held() == world.expected()
        world.close()


@pytest.mark.long
@pytest.mark.parametrize("point", sorted({point.partition(":")[0] for point in POINTS}))
def test_after_many_kills_at_one_point_every_page_is_found_once(tmp_path: Path, point: str) -> None:
    with search_home(tmp_path, indexserver__shards=3) as world:
        world.load(2500)
        for kill in range(1, 13):
            if "build" in point or "switch" in point:
                world.tell_all_changed()
            passings = 3 if "switch" in point else 2 if "build" in point else 5
            world.start("one", fail=f"{point}:{1 + kill % passings}:kill")
            turn = 0
            while world.servers["one"].poll() is None:
                turn += 1
                assert turn < 2000, world.log()
                world.load(30, at=2 + kill * 2000 + turn, first=(kill * 37 + turn * 11) % 2600)
                time.sleep(0.02)
            assert world.wait_for_death("one") == -signal.SIGKILL, world.log()
        world.start("one")
        world.wait_until_complete("one")
        assert world.held() == world.expected()
