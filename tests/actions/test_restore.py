"""Restoring a control plane: what the store remembers of the lost one must not confuse the next."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.built_world import World
from weft.actions.restore import LackingLinks, restore, take_back
from weft.config import Settings
from weft.dispatcher.link_records import LinkPhase
from weft.errors import MgmtMissing, UsageError
from weft.home import Home
from weft.index import chunk_markers
from weft.mgmt.sqlite import SqliteMgmt
from weft.mgmt.sqlite_copies import database_of, make_copy
from weft.mgmt.values import ChunkId, NewLink, NodeState, NodeType, Result, WarcPosition
from weft.model.site import Site

PAGE = '<a href="/one">1</a><a href="/two">2</a>'


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.crawl("https://a.com/", PAGE)
    assert world.dispatcher.step(world.scope, 100).given == 2
    return world


def phases(world: World) -> set[LinkPhase]:
    records = [world.record(f"https://a.com/{name}") for name in ("one", "two")]
    return {record.phase for record in records if record is not None}


def test_links_that_were_under_way_wait_again_and_numbers_of_chunks_may_come_again(
    world: World, tmp_path: Path
) -> None:
    chunk = ChunkId(1)
    assert chunk_markers.read_markers(world.store, [chunk]) == [chunk_markers.ALL_IN]
    assert phases(world) == {LinkPhase.GIVEN}
    done = restore(Settings(), Home(tmp_path), world.store, without_copy=True)
    assert (done.copy, done.aside, done.links) == (None, None, 2)
    assert phases(world) == {LinkPhase.NEW}
    assert chunk_markers.read_markers(world.store, [chunk]) == [None]
    assert world.dispatcher.outstanding() == 0
    assert world.dispatcher.step(world.scope, 100).given == 2


def test_running_it_twice_is_harmless(world: World, tmp_path: Path) -> None:
    restore(Settings(), Home(tmp_path), world.store, without_copy=True)
    again = restore(Settings(), Home(tmp_path), world.store, without_copy=True)
    assert again.links == 0
    assert again.aside is not None
    assert again.aside.exists()


def test_without_a_copy_nothing_is_touched_unless_that_is_asked_for(world: World, tmp_path: Path) -> None:
    database_of(Home(tmp_path)).write_bytes(b"what is left of it")
    with pytest.raises(MgmtMissing, match="there is no good copy"):
        restore(Settings(), Home(tmp_path), world.store, without_copy=False)
    assert database_of(Home(tmp_path)).read_bytes() == b"what is left of it"
    assert phases(world) == {LinkPhase.GIVEN}


def test_the_copy_that_is_put_back_has_the_sites(world: World, tmp_path: Path) -> None:
    home = Home(tmp_path)
    mgmt = SqliteMgmt(database_of(home))
    mgmt.set_sites([Site(name="a.com")])
    mgmt.close()
    make_copy(home)
    database_of(home).unlink()
    assert restore(Settings(), home, world.store, without_copy=False).copy is not None
    mgmt = SqliteMgmt(database_of(home))
    assert [site.name for site in mgmt.sites()] == ["a.com"]
    mgmt.close()


def test_a_copy_that_is_newer_than_the_index_offers_what_that_lacks(world: World, tmp_path: Path) -> None:
    home = Home(tmp_path)
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        crawler, builder = mgmt.register(NodeType.CRAWLER, "here:1"), mgmt.register(NodeType.INDEX_BUILDER, "here:2")
        for name, file in (("later", "gone.warc.gz"), ("failed", "")):
            mgmt.add([NewLink(f"com.a/{name}", f"https://a.com/{name}", "a.com")])
            chunk = mgmt.claim(crawler, 1)
            assert chunk is not None
            position = WarcPosition("here:3", file, 0, 10) if file else None
            error, status = ("", 200) if file else ("timeout", 0)
            for link in chunk.links:
                facts: dict[str, Any] = {"error": error, "status": status, "position": position, "ended": 5}
                mgmt.report([Result(doc_id=link.doc_id, claim=link.claim, **facts)])
            (taken,) = mgmt.take_crawled(builder)
            mgmt.built(builder, taken.id, taken.attempt, 100)
        make_copy(home)
        for lease in (crawler, builder):
            mgmt.tell(lease, NodeState.OFFLINE)
    done = restore(Settings(), home, world.store, without_copy=False)
    assert done.lacking == LackingLinks(archived=1, refetched=1)
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        assert len(mgmt.take_crawled(mgmt.register(NodeType.INDEX_BUILDER, "here:2"))) == 2


def test_nobody_waits_for_processes_of_the_run_in_which_the_copy_was_made(world: World, tmp_path: Path) -> None:
    home = Home(tmp_path)
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        mgmt.add([NewLink("com.a", "https://a.com/", "a.com")])
        crawler = mgmt.register(NodeType.CRAWLER, "here:1")
        assert mgmt.own_slots(crawler)
        mgmt.claim(crawler, 10, [])
        assert mgmt.counts().links["crawling"] == 1
        make_copy(home)
        mgmt.tell(crawler, NodeState.OFFLINE)
    restore(Settings(), home, world.store, without_copy=False)
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        assert [node.state for node in mgmt.nodes()] == [NodeState.OFFLINE]
        assert mgmt.counts().links["pending"] == 1


def test_a_web_app_need_not_be_stopped_for_it(world: World, tmp_path: Path) -> None:
    home = Home(tmp_path)
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        mgmt.register(NodeType.WEB_APP, "127.0.0.1:8765")
        assert restore(Settings(), home, world.store, without_copy=True).aside is not None
    with closing(SqliteMgmt(database_of(home))) as mgmt:
        assert mgmt.nodes() == []
        mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
        with pytest.raises(UsageError, match="weft is running in this home"):
            restore(Settings(), home, world.store, without_copy=True)


def test_links_alone_can_be_taken_back_for_a_control_plane_that_was_restored_by_other_means(
    world: World, tmp_path: Path
) -> None:
    assert take_back(Settings(), world.store) == 2
    assert phases(world) == {LinkPhase.NEW}
    assert not database_of(Home(tmp_path)).exists()
    assert world.dispatcher.step(world.scope, 100).given == 2
    assert world.mgmt.counts().links["pending"] == 2, "what was pending already is pending once"
