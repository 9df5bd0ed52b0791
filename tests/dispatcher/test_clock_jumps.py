"""The index process's clock is set ahead and back: links wait for their own time, and the newest fetch decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.built_world import World

HOUR, DAY = 3_600, 86_400
JUMPS = [HOUR, DAY, 25 * HOUR]
URL = "https://a.com/"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def given(world: World) -> int:
    return world.dispatcher.step(world.scope, 100).given


def waits(world: World) -> int:
    """Seconds until the link is due."""
    record = world.record(URL)
    assert record is not None
    return (record.due - world.clock.now()) // 1000


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_link_fetched_while_the_clock_was_ahead_waits_for_its_own_time(world: World, seconds: int) -> None:
    world.clock.advance(seconds)
    world.crawl(URL, error="network")
    waited = waits(world)
    world.clock.advance(-seconds)
    assert given(world) == 0
    assert waits(world) == waited
    world.clock.advance(waited + 1)
    assert given(world) == 1


@pytest.mark.parametrize("seconds", JUMPS)
def test_after_a_restart_too(world: World, seconds: int, tmp_path: Path) -> None:
    world.clock.advance(seconds)
    world.crawl(URL, "<title>1</title>")
    waited = waits(world)
    world.clock.advance(-seconds)
    after = World(tmp_path / "after")
    after.store, after.clock = world.store, world.clock
    after.dispatcher._store, after.dispatcher._clock = world.store, world.clock
    assert given(after) == 0
    assert waits(world) == waited


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_fetch_after_the_clock_was_set_back_is_the_newer_one(world: World, seconds: int) -> None:
    world.clock.advance(seconds)
    world.crawl(URL, "<title>one</title>")
    waited = waits(world)
    world.clock.advance(-seconds)
    given(world)
    world.clock.advance(waited + 1 if waited + 1 < seconds else 1)
    record = world.record(URL)
    assert record is not None
    world.fetch_again(URL, "<title>two</title>")
    world.build()
    assert world.answers.page(URL).title == "two"
    assert waits(world) > 0, "it is not fetched over and over until the clock has caught up"
    assert given(world) == 0


@pytest.mark.parametrize("seconds", JUMPS)
def test_a_fetch_that_ended_in_the_future_waits_from_now_on(world: World, seconds: int) -> None:
    world.clock.advance(seconds)
    world.fetch(URL, error="network")
    world.clock.advance(-seconds)
    world.build()
    assert waits(world) < HOUR
    world.clock.advance(waits(world) + 1)
    assert given(world) == 1
    assert world.mgmt.counts().links["pending"] == 1, "the control plane agrees that it may be fetched again"


@pytest.mark.parametrize("seconds", JUMPS)
def test_waits_that_were_set_before_are_kept(world: World, seconds: int) -> None:
    world.crawl(URL, "<title>one</title>")
    due = world.record(URL)
    world.clock.advance(seconds)
    world.crawl("https://b.com/", "<title>b</title>")
    world.clock.advance(-seconds)
    given(world)
    assert world.record(URL) == due
