"""The index as of now, for many threads: whole answers, no waiting, and no end after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from weft.answers.home_index import HomeIndex
from weft.errors import StoreCorrupt, StoreError
from weft.web import fresh_index
from weft.web.fresh_index import FreshIndex

PATIENCE = 20


class World:
    """A store in which two numbers always change together, and what happens when readers of it catch up."""

    def __init__(self) -> None:
        self.version = 0
        self.opened: list[Reader] = []
        self.refreshing: Callable[[], None] = lambda: None
        self.opening: Callable[[], None] = lambda: None

    def open(self) -> HomeIndex:
        self.opening()
        self.opened.append(Reader(self))
        return cast(HomeIndex, self.opened[-1])


class Reader:
    """Not safe: it notices when it is read while it catches up, or after it was closed."""

    def __init__(self, world: World) -> None:
        self.world, self.first, self.second = world, world.version, world.version
        self.is_closed = False

    @property
    def seq(self) -> int:
        return self.second

    def refresh(self) -> None:
        assert not self.is_closed
        self.world.refreshing()
        version = self.world.version
        self.first = version
        time.sleep(0.0005)
        self.second = version

    def read(self) -> tuple[int, int]:
        assert not self.is_closed
        return self.first, self.second

    def close(self) -> None:
        assert not self.is_closed
        self.is_closed = True


@contextmanager
def following(world: World) -> Iterator[FreshIndex]:
    index = FreshIndex(world.open, every=0.001, after_failure=0.001)
    try:
        yield index
    finally:
        index.close()
        assert all(reader.is_closed for reader in world.opened)


def read(index: FreshIndex) -> tuple[int, int]:
    with index.borrowed() as borrowed:
        return cast(Any, borrowed).read()


def can_read(index: FreshIndex) -> bool:
    try:
        read(index)
    except StoreError:
        return False
    return True


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.001)


def test_what_was_written_is_seen_soon() -> None:
    world = World()
    with following(world) as index:
        for version in range(1, 20):
            world.version = version
            wait_for(lambda wanted=version: read(index)[0] == wanted, f"version {version}")  # type: ignore[misc]


def test_what_is_borrowed_stands_still_however_long_it_is_held() -> None:
    world = World()
    with following(world) as index:
        with index.borrowed() as borrowed:
            held = cast(Any, borrowed)
            seen = held.read()
            for version in range(1, 10):
                world.version = version
                time.sleep(0.005)
                assert held.read() == seen
        wait_for(lambda: read(index)[0] == 9, "the last version")


def test_answers_are_never_torn_with_many_who_ask() -> None:
    world = World()
    torn: list[tuple[int, int]] = []
    is_over = threading.Event()

    def ask() -> None:
        last = 0
        while not is_over.is_set():
            with index.borrowed() as borrowed:
                first = cast(Any, borrowed).read()
                time.sleep(0)
                second = cast(Any, borrowed).read()
            if first != second or first[0] != first[1] or first[0] < last:
                torn.append((*first, *second))
            last = first[0]

    with following(world) as index:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for version in range(1, 200):
            world.version = version
            time.sleep(0.001)
        wait_for(lambda: read(index)[0] > 0, "news under load")
        is_over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert torn == []


def test_nobody_waits_for_a_reader_that_takes_long_to_catch_up() -> None:
    world = World()
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def slowly() -> None:
        begun.set()
        may_end.wait(PATIENCE)
        ended.set()

    with following(world) as index:
        world.refreshing, world.version = slowly, 1
        assert begun.wait(PATIENCE)
        try:
            assert [read(index)[0] for _ in range(100)] == [0] * 100
            assert not ended.is_set(), "they waited for it"
        finally:
            world.refreshing = lambda: None
            may_end.set()
        wait_for(lambda: read(index)[0] == 1, "the news")


@pytest.mark.parametrize("error", [StoreCorrupt("x", "its files were replaced"), OSError("no"), RuntimeError("no")])
def test_after_a_failure_another_reader_is_opened_and_answers_go_on(error: Exception) -> None:
    world = World()
    failures = 0

    def fail() -> None:
        nonlocal failures
        failures += 1
        raise error

    with following(world) as index:
        wait_for(lambda: len(world.opened) == 2, "the second reader")
        world.refreshing, world.opening, world.version = fail, fail, 1
        wait_for(lambda: failures > 3, "failures")
        assert read(index)[0] == 0, "what was read before is still answered"
        world.refreshing = world.opening = lambda: None
        wait_for(lambda: read(index)[0] == 1, "recovery")
        assert len(world.opened) > 2


def test_a_home_that_cannot_be_read_at_all_is_told_at_the_start() -> None:
    world = World()

    def fail() -> None:
        raise StoreCorrupt("x", "it is damaged")

    world.opening = fail
    with pytest.raises(StoreCorrupt):
        FreshIndex(world.open)


def test_closing_waits_for_those_who_read_and_nobody_reads_after_it() -> None:
    world = World()
    index = FreshIndex(world.open, every=0.001)
    borrowed, may_end, seen = threading.Event(), threading.Event(), []

    def hold() -> None:
        with index.borrowed() as held:
            borrowed.set()
            may_end.wait(PATIENCE)
            seen.append(cast(Any, held).read())

    holder = threading.Thread(target=hold)
    holder.start()
    assert borrowed.wait(PATIENCE)
    closer = threading.Thread(target=index.close)
    closer.start()
    wait_for(lambda: not can_read(index), "the index to refuse")
    may_end.set()
    closer.join(PATIENCE)
    holder.join(PATIENCE)
    assert seen == [(0, 0)]
    assert all(reader.is_closed for reader in world.opened)


def test_closing_does_not_wait_for_ever_nor_close_what_is_being_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh_index, "_LAST_ANSWERS", 0.01)
    world = World()
    index = FreshIndex(world.open, every=0.001)
    with index.borrowed() as held:
        index.close()
        assert cast(Any, held).read() == (0, 0)
