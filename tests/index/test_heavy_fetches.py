"""Heavy fetches wait apart: others go before them, domains take turns, and everything is loaded once all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.built_world import RULES, World
from weft.config import Settings
from weft.index import reading_lanes
from weft.index.fetch_reader_pool import fetch_reader_pool
from weft.index.handlers import HandledPage
from weft.index.heavy_fetches import HEAVY, OTHERS, WAITING_MOST, HeavyDomains, HeavyShare, TurnQueue, crowding
from weft.index.reading_lanes import ReadingLanes
from weft.linkindex.digest import digest

SOON = 60.0


def heavy(number: int) -> str:
    return f"<title>{number}</title>" + "".join(f"<a href=/{number}-{k}>x</a>" for k in range(4000))


def test_domains_take_turns_and_within_one_the_order_holds() -> None:
    queue: TurnQueue[int] = TurnQueue()
    for number in range(5):
        queue.append("many.com", number)
    queue.append("few.com", 10)
    queue.append("few.com", 11)
    assert queue.counts() == {"many.com": 5, "few.com": 2}
    assert [queue.pop() for _ in range(len(queue))] == [0, 10, 1, 11, 2, 3, 4]


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), max_size=40))
def test_nobody_waits_longer_than_a_turn_of_each_other_domain(steps: list[tuple[str, bool]]) -> None:
    queue: TurnQueue[tuple[str, int]] = TurnQueue()
    for number, (domain, is_first) in enumerate(steps):
        (queue.put_first if is_first else queue.append)(domain, (domain, number))
    order = [queue.pop()[0] for _ in range(len(queue))]
    assert sorted(order) == sorted(domain for domain, _ in steps)
    for at, domain in enumerate(order):
        if domain in order[at + 1 :]:
            between = order[at + 1 : order.index(domain, at + 1)]
            assert len(between) == len(set(between))


def test_a_domain_is_heavy_by_its_latest_pages_and_forgotten_when_they_are_light() -> None:
    domains = HeavyDomains()
    domains.was_read("a.com", HEAVY - 1)
    assert "a.com" not in domains
    domains.was_read("a.com", 20 * HEAVY)
    assert (domains.size("a.com"), domains.size("b.com")) == (20 * HEAVY, 0)
    domains.was_read("a.com", 1000)
    assert "a.com" in domains, "one light page among heavy ones"
    for _ in range(20):
        domains.was_read("a.com", 1000)
    assert "a.com" not in domains
    for number in range(20_000):
        domains.was_read(f"{number}.com", HEAVY)
    assert "0.com" not in domains
    assert "19999.com" in domains


def test_domains_with_too_much_are_named_the_largest_first() -> None:
    waiting = {"a.com": WAITING_MOST, "b.com": 2 * WAITING_MOST, "c.com": WAITING_MOST - 1}
    assert crowding(waiting) == ["b.com", "a.com"]
    many = {f"{number}.com": WAITING_MOST + number for number in range(1000)}
    assert crowding(many) == [f"{number}.com" for number in range(999, 949, -1)]


def played(cost: int, others_every: int, seconds: int = 60, others_end: int = 10**9) -> int:
    """Milliseconds that heavy fetches got of so many seconds, if they always wait."""
    share, now, others_at, got = HeavyShare(), 0, 0, 0
    while now < seconds * 1000:
        do_others_wait = others_at <= now < others_end
        if do_others_wait:
            share.others_are_there(now)
        if share.is_turn(now):
            share.heavy_loaded(now, now + cost)
            got += cost
            now += cost
        elif do_others_wait:
            others_at, now = now + others_every, now + 20
        else:
            now += 10
    return got


@pytest.mark.parametrize("cost", [30, 400, 4000])
@pytest.mark.parametrize("others_every", [20, 1000])
def test_while_others_are_there_heavy_fetches_get_a_third_of_the_time(cost: int, others_every: int) -> None:
    assert 15_000 < played(cost, others_every) < 25_000


def test_alone_they_get_all_of_it() -> None:
    assert played(400, others_every=10**9) >= 57_000
    assert played(400, others_every=100, others_end=20_000) >= (60_000 - 20_000 - OTHERS) + 5_000


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


@pytest.fixture
def lanes(world: World) -> Iterator[ReadingLanes]:
    with fetch_reader_pool(Settings(), RULES, world.place / "warc", workers=1, quick=30.0) as reading:
        world.reading = reading
        world.builder = world.new_builder()
        yield reading


PAGES = {
    **{f"https://heavy.com/{n}": heavy(n) for n in range(4)},
    **{f"https://good.com/{n}": f"<title>{n}</title><a href=/{n + 1}>next</a>" for n in range(4)},
}


class SlowLoading(list[HandledPage]):
    """Loading a page of heavy.com takes three seconds."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def append(self, page: HandledPage) -> None:
        super().append(page)
        self._world.clock.advance(3.0 if page.uri.startswith("com.heavy") else 0.02)


def test_a_heavy_fetch_comes_apart_and_the_next_ones_of_its_domain_are_not_waited_for(
    world: World, lanes: ReadingLanes
) -> None:
    world.fetch_chunk(PAGES)
    world.builder.open(world.mgmt.take_crawled(world.lease))
    light = [lanes.take(SOON) for _ in range(4)]
    assert {ready.link.url[:16] for ready in light if ready} == {"https://good.com"}
    taken: list[str] = []
    while len(taken) < 4:
        lanes.gather(1, 0.01)
        taken += [ready.link.url for ready in [lanes.take_heavy()] if ready]
    assert sorted(taken) == sorted(url for url in PAGES if "heavy" in url)
    assert lanes.is_heavy("heavy.com")
    assert not lanes.is_heavy("good.com")
    world.fetch_chunk({"https://heavy.com/more": heavy(9)})
    world.builder.open(world.mgmt.take_crawled(world.lease))
    assert lanes.waiting == 0
    assert lanes.heavy.keys() <= {"heavy.com"}


def test_what_waits_of_heavy_fetches_is_bounded_in_bytes(
    world: World, lanes: ReadingLanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_lanes, "HEAVY_AHEAD_BYTES", 1)
    world.fetch_chunk(PAGES)
    world.builder.open(world.mgmt.take_crawled(world.lease))
    assert [lanes.take(SOON) is not None for _ in range(4)] == [True] * 4
    with lanes._changed:
        assert lanes._arrived.wait_for(lambda: len(lanes._heavy_ready) == 1 and len(lanes._unread) == 3, SOON)
    urls: set[str] = set()
    while len(urls) < 4:
        urls |= {ready.link.url for ready in [lanes.take_heavy()] if ready}
        lanes.take(0.01)
    assert urls == {url for url in PAGES if "heavy" in url}


def test_what_was_dropped_never_comes(world: World, lanes: ReadingLanes) -> None:
    world.fetch_chunk(PAGES)
    world.builder.open(world.mgmt.take_crawled(world.lease))
    assert lanes.take(SOON) is not None
    world.builder.drop()
    assert (lanes.take_heavy(), lanes.take(0.1), lanes.heavy) == (None, None, {})


def test_others_are_loaded_between_heavy_pages_and_all_of_them_once(world: World, lanes: ReadingLanes) -> None:
    world.handled = SlowLoading(world)
    world.builder = world.new_builder(round_weight=1)
    world.fetch_chunk(PAGES)
    world.builder.open(world.mgmt.take_crawled(world.lease))
    results = 0
    while world.builder.is_busy:
        results += world.builder.build(world.scope).results
        world.builder.take_built()
        world.clock.advance(0.5)
    assert results == len(PAGES)
    order = ["heavy" if page.uri.startswith("com.heavy") else "good" for page in world.handled]
    assert order.index("good") <= 1, "after one heavy page at most"
    assert order[-3:] == ["heavy"] * 3
    told = digest(world.store)
    with closing(World(world.place / "other")) as other:
        other.fetch_chunk(PAGES)
        other.load(other.mgmt.take_crawled(other.lease))
        assert told == digest(other.store)


def test_a_domain_of_which_much_waits_is_named_until_it_is_loaded(
    world: World, lanes: ReadingLanes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.index.heavy_fetches.WAITING_MOST", 3 * HEAVY)
    world.load([])
    world.fetch_chunk({"https://heavy.com/first": heavy(9)})
    world.load(world.mgmt.take_crawled(world.lease))
    assert world.builder.crowding == []
    world.fetch_chunk(PAGES)
    world.builder.open(world.mgmt.take_crawled(world.lease))
    assert world.builder.crowding == ["heavy.com"]
    while world.builder.is_busy:
        world.builder.build(world.scope)
        world.builder.take_built()
    assert world.builder.crowding == []
