"""Fetches that cannot be read now: when they wait, when they are read after all, and when they are given up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from support.built_world import LocalReading, World
from weft.index.parking import Parking
from weft.index.reading_lanes import AskedFetch
from weft.index.record_nodes import AwayNode, UnreachableFetch
from weft.mgmt.values import BuildChunk


class MemoryNodes:
    """Nodes that are away when a test says so; what is given is then unreachable at once."""

    def __init__(self) -> None:
        self.is_away: set[str] = set()
        self.back: list[str] = []
        self.unreachable: list[UnreachableFetch] = []

    def take_unreachable(self) -> list[UnreachableFetch]:
        taken, self.unreachable = self.unreachable, []
        return taken

    def take_reachable(self) -> list[str]:
        taken, self.back = self.back, []
        return taken

    def away(self) -> dict[str, AwayNode]:
        return {node: AwayNode(1.0, "said so") for node in self.is_away}


class NodesReading(LocalReading):
    """Reads only what lies on nodes that are there, and only when `is_fast`."""

    def __init__(self, local: LocalReading, nodes: MemoryNodes) -> None:
        super().__init__(local._reader)
        self._nodes, self.held, self.is_fast = nodes, list[AskedFetch](), True

    def give(self, fetches: Iterable[AskedFetch]) -> None:
        for asked in fetches:
            node = asked.link.result.position.node if asked.link.result.position else ""
            if node in self._nodes.is_away:
                self._nodes.unreachable.append(UnreachableFetch(asked, node))
            elif self.is_fast:
                super().give([asked])
            else:
                self.held.append(asked)

    def go_on(self) -> None:
        self.is_fast = True
        self.give(self.held)
        self.held = []


class Parked(World):
    """A chunk of two pages, https://a.com/ on node `near` and https://b.com/ on `far`, which is away."""

    def __init__(self, place: Path, patience: float = 100.0) -> None:
        super().__init__(place)
        self.nodes = MemoryNodes()
        assert isinstance(self.reading, LocalReading)
        self.reading = self.slow = NodesReading(self.reading, self.nodes)
        self.builder = self.new_builder(parking=Parking(self.nodes, patience))
        self.nodes.is_away.add("far")

    def chunk(self) -> BuildChunk:
        self.fetch_chunk({"https://a.com/": "<title>A</title>", "https://b.com/": "<title>B</title>"})
        (chunk,) = self.mgmt.take_crawled(self.lease)
        return msgspec.structs.replace(chunk, links=[self._placed(link) for link in chunk.links])

    def _placed(self, link):
        node = "near" if "a.com" in link.url else "far"
        position = msgspec.structs.replace(link.result.position, node=node)
        return msgspec.structs.replace(link, result=msgspec.structs.replace(link.result, position=position))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Parked]:
    with closing(Parked(tmp_path)) as made:
        yield made


def test_a_chunk_waits_when_all_but_the_unreachable_is_loaded(world: Parked) -> None:
    world.slow.is_fast = False
    chunk = world.chunk()
    world.builder.open([chunk])
    world.builder.build(world.scope)
    assert world.builder.take_waiting() == [], "a.com is being read"
    world.slow.go_on()
    assert world.builder.build(world.scope).uris == ["com.a"]
    ((waiting, node, wait),) = world.builder.take_waiting()
    assert (waiting.id, node, wait) == (chunk.id, "far", 100_000)
    assert not world.builder.is_busy
    assert world.builder.take_built() == []


def test_a_link_whose_node_is_back_before_its_chunk_is_given_away_is_read(world: Parked) -> None:
    world.slow.is_fast = False
    world.builder.open([world.chunk()])
    world.builder.build(world.scope)
    world.nodes.is_away.clear()
    world.slow.go_on()
    assert world.builder.build(world.scope).uris == ["com.a"]
    assert world.builder.take_waiting() == []
    assert world.builder.build(world.scope).uris == ["com.b"]
    assert len(world.builder.take_built()) == 1


def test_the_next_time_only_what_is_missing_is_read(world: Parked) -> None:
    chunk = world.chunk()
    world.builder.open([chunk])
    world.builder.build(world.scope)
    assert world.builder.take_waiting()
    world.nodes.is_away.clear()
    world.builder.open([msgspec.structs.replace(chunk, attempt=2, waited=5000)])
    assert world.builder.build(world.scope).uris == ["com.b"]
    assert [built.attempt for built in world.builder.take_built()] == [2]


@pytest.mark.parametrize(
    ("waited", "wait"), [(0, 100_000), (60_000, 40_000), (99_500, 1_000), (99_999, 1_000), (100_000, None)]
)
def test_a_chunk_is_tried_again_when_its_patience_ends_and_then_given_up(
    world: Parked, waited: int, wait: int | None
) -> None:
    world.builder.open([msgspec.structs.replace(world.chunk(), waited=waited)])
    built = world.builder.build(world.scope)
    assert [each.wait for each in world.builder.take_waiting()] == ([] if wait is None else [wait])
    assert sorted(built.uris) == (["com.a", "com.b"] if wait is None else ["com.a"])
    record = world.record("https://b.com/")
    assert (record.error if record else "") == ("archive" if wait is None else "")


def test_no_wait_is_longer_than_five_minutes(tmp_path: Path) -> None:
    with closing(Parked(tmp_path, patience=1_000_000.0)) as world:
        world.builder.open([world.chunk()])
        world.builder.build(world.scope)
        assert [each.wait for each in world.builder.take_waiting()] == [300_000]


def test_what_was_parked_is_forgotten_with_its_chunk(world: Parked) -> None:
    world.builder.open([world.chunk()])
    world.builder.build(world.scope)
    world.builder.drop()
    world.nodes.is_away.clear()
    assert world.builder.take_waiting() == []
    assert world.slow.waiting == 0
