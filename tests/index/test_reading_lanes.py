"""Reading lanes: real worker processes. What takes long, crashes or is large holds up nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from support.built_world import RULES, World
from weft.config import Settings
from weft.config.sections import LimitsSettings
from weft.index.fetch_reader_pool import fetch_reader_pool
from weft.index.open_chunks import LinkTicket
from weft.index.read_fetch import ReadFetch
from weft.index.reading_lanes import AskedFetch, ReadingLanes, ReadyFetch
from weft.index.slow_hosts import FORGOTTEN_AFTER, REMEMBERED, SlowHosts
from weft.mgmt.values import BuildChunk, ChunkId

SLOW = "<a>" * 800_000
"""Takes more than half a second."""
SOON = 60.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def fetched(world: World, **bodies: str) -> list[AskedFetch]:
    """Pages of hosts a.com, b.com … as one chunk, in the order of the names."""
    world.fetch_chunk({f"https://{name}.com/": body for name, body in bodies.items()})
    (chunk,) = world.mgmt.take_crawled(world.lease)
    links = sorted(chunk.links, key=lambda link: link.url)
    return [AskedFetch(LinkTicket(ChunkId(1), place), link) for place, link in enumerate(links)]


def lanes(
    world: World, quick: float = 0.2, seconds: float = 30.0, memory: int = 1 << 30
) -> AbstractContextManager[ReadingLanes]:
    limits = LimitsSettings(parse_seconds=seconds, parse_bytes=memory)
    return fetch_reader_pool(Settings(limits=limits), RULES, world.place / "warc", workers=1, quick=quick)


def taken(reading: ReadingLanes, count: int) -> list[ReadyFetch]:
    found = [reading.take(SOON) for _ in range(count)]
    return [fetch for fetch in found if fetch is not None]


def hosts(ready: list[ReadyFetch]) -> list[str]:
    return [fetch.link.uri.removeprefix("com.") for fetch in ready]


def errors(ready: list[ReadyFetch]) -> dict[str, str]:
    return {fetch.link.uri.removeprefix("com."): fetch.read.fetched.error for fetch in ready}


def test_a_slow_page_comes_last_and_is_read_all_the_same(world: World) -> None:
    with lanes(world) as reading:
        reading.give(fetched(world, a="a", b=SLOW, c="c", d="d"))
        ready = taken(reading, 4)
        assert (hosts(ready), errors(ready)["b"]) == (["a", "c", "d", "b"], "")


def test_further_pages_of_a_slow_host_are_read_in_the_slow_lane(world: World) -> None:
    with lanes(world) as reading:
        asked = fetched(world, a=SLOW, b="b")
        reading.give(asked)
        assert hosts(taken(reading, 2)) == ["b", "a"]
        reading.give(asked)
        assert (reading.waiting, reading.slow) == (1, 1)
        assert sorted(hosts(taken(reading, 2))) == ["a", "b"]


def test_a_page_over_the_whole_deadline_is_refused_alone(world: World) -> None:
    with lanes(world, quick=0.1, seconds=0.2) as reading:
        reading.give(fetched(world, a="a", b=SLOW, c="c"))
        assert errors(taken(reading, 3)) == {"a": "", "b": "too_slow", "c": ""}
        assert reading.waiting == reading.slow == 0


def test_a_page_that_takes_too_much_memory_is_refused_alone(world: World) -> None:
    with lanes(world, quick=30.0, memory=64 << 20) as reading:
        reading.give(fetched(world, a="a", b="<li>x" * 1_900_000, c="c"))
        found = errors(taken(reading, 3))
        assert (found["a"], found["c"]) == ("", "")
        assert found["b"] in ("too_much_memory", "crash")


def test_pages_whose_worker_was_killed_from_outside_are_read(world: World) -> None:
    with lanes(world) as reading:
        reading.give(fetched(world, a="a"))
        taken(reading, 1)
        for child in list(reading._children):
            os.kill(child._process.pid, signal.SIGKILL)
        reading.give(fetched(world, b="b", c="c", d="d"))
        assert errors(taken(reading, 3)) == {"b": "", "c": "", "d": ""}


def test_what_waits_to_be_loaded_is_bounded_in_bytes(world: World) -> None:
    body = "x" * 100_000
    with lanes(world, quick=30.0) as reading:
        reading._ahead = 250_000
        reading.give(fetched(world, **{f"h{n}": body for n in range(20)}))
        with reading._arrived:
            assert reading._arrived.wait_for(lambda: reading._held >= 250_000, SOON)
            held = len(reading._ready)
        found = taken(reading, 20)
        assert (len(found), held < 5) == (20, True)


def test_what_was_dropped_never_comes(world: World) -> None:
    with lanes(world) as reading:
        reading.give(fetched(world, a="a", b=SLOW, c="c"))
        taken(reading, 1)
        reading.drop()
        reading.give(fetched(world, d="d"))
        assert hosts(taken(reading, 1)) == ["d"]
        assert reading.take(0) is None


def test_chunks_with_a_slow_page_stay_in_hand_while_others_are_built(tmp_path: Path) -> None:
    with closing(World(tmp_path)) as world, lanes(world) as reading:
        world.reading = reading
        world.builder = world.new_builder()
        world.fetch_chunk({"https://a.com/": "<a href=/x>x</a>", "https://slow.com/": SLOW})
        world.fetch_chunk({"https://b.com/": "<title>B</title>"})
        first, second = world.mgmt.take_crawled(world.lease)
        world.builder.open([first, second])
        built: list[BuildChunk] = []
        while not built:
            world.builder.build(world.scope)
            built = world.builder.take_built()
        assert built == [second]
        while not world.builder.take_built():
            world.builder.build(world.scope)
        assert world.answers.page("https://slow.com/").crawled
        assert world.answers.page("https://a.com/x").references == 1


def test_a_slow_host_is_forgotten_after_a_while_and_only_so_many_are_known() -> None:
    now = [0.0]
    known = SlowHosts(lambda: now[0])
    for number in range(REMEMBERED + 1):
        known.add(f"{number}.com")
    assert ("0.com" in known, "1.com" in known) == (False, True)
    now[0] = FORGOTTEN_AFTER
    assert "1.com" not in known


def test_what_was_read_goes_through_bytes_unchanged(world: World) -> None:
    with lanes(world) as reading:
        asked = fetched(world, a="<title>A</title>text <a href=/b rel=nofollow>b</a>")
        reading.give(asked)
        (ready,) = taken(reading, 1)
        here = world.reading
        here.give(asked)
        local = here.take(0)
        assert local is not None
        assert isinstance(ready.read, ReadFetch)
        assert ready.read.fetched == local.read.fetched
        assert ready.read.page is not None
        assert local.read.page is not None
        assert (ready.read.page.cur, ready.read.page.version) == (local.read.page.cur, local.read.page.version)


def test_gathering_waits_until_all_that_is_being_read_is_ready(world: World) -> None:
    with lanes(world) as reading:
        reading.give(fetched(world, a="a", b="b", c="c"))
        reading.gather(500, SOON)
        assert hosts([fetch for fetch in (reading.take(0) for _ in range(3)) if fetch]) == ["a", "b", "c"]


def test_gathering_ends_when_enough_is_ready(world: World) -> None:
    with lanes(world, quick=30.0) as reading:
        reading.give(fetched(world, a="a", b="b", c=SLOW))
        reading.gather(2, SOON)
        assert hosts([fetch for fetch in (reading.take(0) for _ in range(3)) if fetch]) == ["a", "b"]


def test_gathering_does_not_wait_for_the_slow_lane(world: World) -> None:
    with lanes(world, quick=0.1) as reading:
        reading.give(fetched(world, a=SLOW * 4, b="b"))
        reading.gather(500, SOON)
        assert (hosts([fetch for fetch in [reading.take(0)] if fetch]), reading.slow) == (["b"], 1)


def test_gathering_ends_when_workers_wait_for_room(world: World) -> None:
    with lanes(world) as reading:
        reading._ahead = 1
        reading.give(fetched(world, a="a", b="b"))
        reading.gather(500, SOON)
        assert hosts(taken(reading, 2)) == ["a", "b"]
