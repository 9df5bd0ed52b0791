"""Rounds are bounded, and a chunk may take several: each of its links is loaded exactly once, whoever is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from support.built_world import World
from weft.dispatcher.link_records import LINK, decode_record
from weft.index import builder, chunk_markers
from weft.index.open_chunks import OpenChunk
from weft.index.read_ahead import LEAST
from weft.linkindex.digest import digest
from weft.linkindex.verify import verify
from weft.mgmt.values import BuildChunk, ChunkId
from weft.store.api import Batch, Cell
from weft.store.tables import Table

PAGES = {
    f"https://a.com/{n}?lang=en": f"<title>{n}</title><a href='/{n + 1}?lang=en'>next</a><a href='https://b{n}.com/'>b"
    for n in range(12)
}
ONE_PAGE = 1
"""A weight that every page is over: one page a round."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with closing(World(tmp_path)) as made:
        yield made


def taken(world: World) -> list[BuildChunk]:
    world.fetch_chunk(PAGES)
    return world.mgmt.take_crawled(world.lease)


def told(world: World) -> tuple[str, list[object]]:
    """All that the index says, and all that is known of links but where in the archive they are."""
    return digest(world.store), [_without_position(cell) for cell in world.store.scan_rows(Table.LINKS)]


def _without_position(cell: Cell) -> object:
    if cell.family != LINK:
        return cell.row, cell.family, cell.qualifier, cell.value
    return msgspec.structs.replace(decode_record(cell.value), position=None, decided_position=None)


def test_a_round_ends_when_it_is_heavy_and_the_chunk_when_all_of_it_is_loaded(world: World) -> None:
    world.builder = world.new_builder(round_weight=ONE_PAGE)
    world.builder.open(taken(world))
    for number in range(len(PAGES)):
        assert world.builder.take_built() == []
        assert (world.builder.build(world.scope).pages, world.store.last_seq) == (1, number + 1)
        assert verify(world.store, "all", world.place).differences == 0
    assert len(world.builder.take_built()) == 1
    assert not world.builder.is_busy


def test_a_round_ends_when_it_has_many_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "ROUND_PAGES", 5)
    world.builder.open(taken(world))
    assert [world.builder.build(world.scope).results for _ in range(4)] == [5, 5, 2, 0]


@pytest.mark.parametrize("rounds", range(1, len(PAGES)))
def test_a_builder_that_is_killed_within_a_chunk_is_continued_exactly(tmp_path: Path, rounds: int) -> None:
    with closing(World(tmp_path / "whole")) as whole, closing(World(tmp_path / "killed")) as killed:
        for world in (whole, killed):
            world.builder = world.new_builder(round_weight=ONE_PAGE)
        whole.load(taken(whole))
        chunks = taken(killed)
        killed.builder.open(chunks)
        for _ in range(rounds):
            killed.builder.build(killed.scope)
        killed.reading.drop()
        killed.builder = killed.new_builder(round_weight=ONE_PAGE)
        assert killed.load(chunks).results == len(PAGES) - rounds, "each link once"
        assert killed.built == chunks
        assert told(killed) == told(whole)


def test_what_is_dropped_is_loaded_when_it_comes_again(world: World) -> None:
    world.builder = world.new_builder(round_weight=ONE_PAGE)
    chunks = taken(world)
    world.builder.open(chunks)
    world.builder.build(world.scope)
    world.builder.drop()
    assert not world.builder.is_busy
    assert world.builder.build(world.scope).results == 0
    assert world.load(chunks).results == len(PAGES) - 1


def test_an_empty_marker_of_an_older_version_says_that_all_is_loaded(world: World) -> None:
    chunks = taken(world)
    world.store.write(Batch(chunk_markers.mark(chunks[0].id, chunk_markers.ALL_IN)), 1)
    assert world.load(chunks).results == 0
    assert world.built == chunks


def test_a_chunk_with_more_links_than_a_byte_has_bits_is_marked_link_by_link(world: World) -> None:
    (chunk,) = taken(world)
    opened = OpenChunk(chunk, None)
    assert opened.marker_with([0, 9]) == bytes([1, 2])
    again = OpenChunk(chunk, bytes([1, 2]))
    assert [ticket.place for ticket, _ in again.missing()] == [1, 2, 3, 4, 5, 6, 7, 8, 10, 11]
    assert again.marker_with(range(12)) == chunk_markers.ALL_IN
    assert OpenChunk(BuildChunk(ChunkId(7), 1, []), None).is_loaded


def test_chunks_are_taken_while_there_is_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "OPEN_CHUNKS", 2)
    assert world.builder.has_room
    (chunk,) = taken(world)
    world.builder.open([chunk])
    assert world.builder.has_room
    world.fetch("https://c.com/", "c")
    world.builder.open(world.mgmt.take_crawled(world.lease))
    assert not world.builder.has_room
    monkeypatch.setattr(builder, "OPEN_CHUNKS", 3)
    assert (world.builder.has_room, world.builder.room) == (True, LEAST - 13)
    world.fetch_chunk({f"https://d.com/{n}": "d" for n in range(LEAST - 13)})
    world.builder.open(world.mgmt.take_crawled(world.lease))
    monkeypatch.setattr(builder, "OPEN_CHUNKS", 9)
    assert (world.builder.has_room, world.builder.room) == (False, 0)


def test_a_link_whose_chunk_is_not_built_yet_waits_for_another_step(world: World) -> None:
    """Its result is loaded and it is due at once, because it redirects to https, but the rest of the chunk is not."""
    world.builder = world.new_builder(round_weight=ONE_PAGE)
    world.fetch_chunk({"http://a.com/": "", "http://b.com/": ""}, 301, location="https://a.com/")
    (chunk,) = world.mgmt.take_crawled(world.lease)
    world.builder.open([chunk])
    while (record := world.record("http://a.com/")) is None or not record.self_redirect:
        world.builder.build(world.scope)
    if world.builder.take_built():
        pytest.skip("the other one was loaded first")
    assert world.dispatcher.step(world.scope, 10).given == 0
    world.builder.build(world.scope)
    assert world.builder.take_built() == [chunk]
    assert world.mgmt.built(world.lease, chunk.id, chunk.attempt, world.builder.seq)
    assert world.dispatcher.step(world.scope, 10).given == 1
    assert world.mgmt.known(["com.a"])["com.a"].state == "pending"


def test_pages_that_are_read_one_after_the_other_are_loaded_in_one_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "_GATHER", 60.0)
    with closing(World(tmp_path, with_workers=True)) as world:
        world.builder.open(taken(world))
        assert (world.builder.build(world.scope).pages, world.store.last_seq) == (len(PAGES), 1)
