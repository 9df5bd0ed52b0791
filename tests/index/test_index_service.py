"""The index process in one process: it builds, dispatches and beats, and survives what its control plane does to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.built_world import SETTINGS, World
from weft.clock import MonotonicClock
from weft.config.sections import MgmtSettings
from weft.errors import BatchRefused, MgmtError, MgmtUnavailable, StoreUnwritable
from weft.index.chunk_markers import ALL_IN, mark, marked
from weft.index.service import IndexResources, IndexService
from weft.linkindex.verify import verify
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.memory.state import MemoryChunk
from weft.mgmt.values import ChunkId, NodeState, NodeType
from weft.model.site import Site
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest
from weft.store.api import Batch

ADDRESS = "index@test"
SOON = 20.0


class TestedMgmt(MemoryMgmt):
    """Counts calls, and fails the way a test asks for."""

    __test__ = False
    beats = 0
    takes = 0
    is_away = False
    refused: str = ""
    loses_answer = False
    cannot_read_sites = False

    def heartbeat(self, lease, told=None):
        if lease.address == ADDRESS:
            self.beats += 1
        return super().heartbeat(lease, told)

    def sites(self):
        if self.cannot_read_sites:
            raise MgmtUnavailable("the database went away")
        return super().sites()

    def take_crawled(self, builder, most=5):
        self.takes += 1
        chunks = super().take_crawled(builder, most)
        if chunks and self.loses_answer:
            self.loses_answer = False
            raise MgmtUnavailable("the connection broke after the commit")
        return chunks

    def built(self, builder, chunk, attempt, seq):
        self._fail("built")
        return super().built(builder, chunk, attempt, seq)

    def reopen(self, wanted):
        self._fail("reopen")
        return super().reopen(wanted)

    def _fail(self, call: str) -> None:
        if self.is_away:
            raise MgmtUnavailable("the database went away")
        if self.refused == call:
            raise MgmtError(f"{call} is refused")


class Running:
    """An index service over a world whose pages a test fetches by saying what came back."""

    def __init__(self, place: Path, **settings: Any) -> None:
        self.world = World(place)
        self.world.mgmt = self.mgmt = TestedMgmt(self.world.clock)
        self.mgmt.set_sites([Site(name="*", scope="any")])
        self.world.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.world.dispatcher._mgmt = self.mgmt
        self.facts: list[dict[str, Any]] = []
        self.builds = 0
        self.is_building, self.may_build = threading.Event(), threading.Event()
        self.may_build.set()
        self._build, self.world.builder.build = self.world.builder.build, self._slow_build  # type: ignore[method-assign]
        self._settings = MgmtSettings(**{"heartbeat": 0.02, "lease": 10.0, **settings})
        self.keeper = LeaseKeeper(ControlPlane(self.mgmt), NodeType.INDEX_BUILDER, ADDRESS, self._settings)
        self.service = self._new_service()
        self.stop = StopRequest()
        self.work: asyncio.Task[None]

    def _new_service(self) -> IndexService:
        return IndexService(
            IndexResources(
                control=ControlPlane(self.mgmt),
                keeper=self.keeper,
                builder=self.world.builder,
                dispatcher=self.world.dispatcher,
                settings=SETTINGS,
                clock=MonotonicClock(),
                write_status=self.facts.append,
            )
        )

    def begin_again(self) -> None:
        """Another process, after the first one has ended."""
        self.world.builder = self.world.new_builder()
        self.keeper = LeaseKeeper(ControlPlane(self.mgmt), NodeType.INDEX_BUILDER, ADDRESS, self._settings)
        self.service, self.stop = self._new_service(), StopRequest()
        self.work = asyncio.create_task(self.service.run(self.stop))

    def _slow_build(self, scope):
        self.is_building.set()
        assert self.may_build.wait(SOON)
        self.builds += 1
        return self._build(scope)

    @property
    def node(self):
        (found,) = [node for node in self.mgmt.nodes() if node.address == ADDRESS]
        return found

    def chunks(self, task: str) -> int:
        return self.mgmt.counts().chunks[task]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SOON):
            while not condition():
                assert not self.work.done(), f"the service ended by itself: {self.work}"
                await asyncio.sleep(0.005)

    async def beats(self, count: int) -> None:
        wanted = self.mgmt.beats + count
        await self.until(lambda: self.mgmt.beats >= wanted)

    async def begin_slow_build(self) -> None:
        """Return while the first page is being built."""
        self.may_build.clear()
        self.world.fetch("https://a.com/", PAGE)
        await self.until(self.is_building.is_set)


PAGE = '<title>Home</title><a href="/one">one</a><a href="/two">two</a>'


@asynccontextmanager
async def running(place: Path, **settings: Any) -> AsyncIterator[Running]:
    run = Running(place, **settings)
    run.work = asyncio.create_task(run.service.run(run.stop))
    try:
        yield run
    finally:
        run.may_build.set()
        run.stop.ask("the test is over")
        await asyncio.wait_for(asyncio.shield(run.work), SOON)
    assert verify(run.world.store, "all", place).differences == 0


def test_what_was_crawled_is_built_and_what_it_links_to_is_handed_out(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            run.world.fetch("https://a.com/", PAGE)
            await run.until(lambda: run.chunks("built") == 1)
            await run.until(lambda: run.mgmt.counts().links["pending"] == 2)
            assert run.world.answers.page("https://a.com/").title == "Home"
            await run.until(lambda: run.facts[-1]["pages"] == 1 and run.facts[-1]["idle"])
            assert 1 <= run.mgmt._state.chunks[ChunkId(1)].seq <= run.world.store.last_seq
        assert run.facts[-1]["ended"]
        assert run.node.state is NodeState.OFFLINE

    asyncio.run(story())


def test_markers_that_a_process_before_left_behind_go_with_the_next_round(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            for n in range(2):
                run.world.fetch(f"https://a.com/{n}", "text")
            await run.until(lambda: run.chunks("built") == 2)
        left = set(marked(run.world.store))
        assert left, "no round came after the report of the last one"
        unbuilt = ChunkId(1000)
        run.world.store.write(Batch(mark(unbuilt, ALL_IN)), run.world.store.last_seq + 1)
        run.mgmt._state.chunks[unbuilt] = MemoryChunk(unbuilt, "crawler")
        run.begin_again()
        run.world.fetch("https://a.com/more", "text")
        await run.until(lambda: run.chunks("built") == 3)
        run.stop.ask("the test is over")
        await asyncio.wait_for(run.work, SOON)
        assert not left & set(marked(run.world.store))
        assert unbuilt in marked(run.world.store)

    asyncio.run(story())


def test_it_tells_since_when_and_until_when_it_found_nothing_to_do(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.until(lambda: run.facts and run.facts[-1]["idle"])
            before = run.facts[-1]["idle"]["since"]
            await run.begin_slow_build()
            at = MonotonicClock().now()
            assert run.facts[-1]["idle"]["since"] == before
            assert run.facts[-1]["idle"]["looked"] <= at, "nothing is known of what comes after the build"
            run.may_build.set()
            await run.until(lambda: run.facts[-1]["pages"] == 1 and run.facts[-1]["idle"])
            idle = run.facts[-1]["idle"]
            assert at <= idle["since"] <= idle["looked"]
            await run.until(lambda: run.facts[-1]["idle"]["looked"] > idle["looked"])
            assert run.facts[-1]["idle"]["since"] == idle["since"]

    asyncio.run(story())


def test_it_beats_and_tells_its_status_while_a_build_takes_long(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            told = len(run.facts)
            await run.beats(3)
            await run.until(lambda: len(run.facts) > told)
            assert run.chunks("building") == 1
            run.may_build.set()
            await run.until(lambda: run.chunks("built") == 1)

    asyncio.run(story())


def test_a_lease_lost_during_a_build_costs_nothing(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            lost = run.keeper.lease
            run.mgmt.register(NodeType.INDEX_BUILDER, ADDRESS)  # somebody takes our name
            await run.until(lambda: run.keeper.lease != lost)
            assert run.chunks("building") == 0, "given back with the lease"
            run.may_build.set()
            await run.until(lambda: run.chunks("built") == 1)
            assert run.builds == 2
            assert run.service.tally.pages == 1, "the marker told that it was loaded"

    asyncio.run(story())


def test_a_lost_lease_that_a_call_finds_first_is_replaced_too(tmp_path):
    async def story() -> None:
        async with running(tmp_path, heartbeat=100.0, lease=200.0) as run:
            await run.until(lambda: run.mgmt.beats == 1)
            lost = run.keeper.lease
            run.mgmt.register(NodeType.INDEX_BUILDER, ADDRESS)
            run.world.fetch("https://a.com/", PAGE)
            await run.until(lambda: run.chunks("built") == 1)
            assert run.keeper.lease != lost

    asyncio.run(story())


def test_while_paused_nothing_is_built_or_handed_out(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.until(lambda: run.mgmt.beats)
            run.mgmt.ask(run.node.id, NodeState.PAUSED)
            await run.until(lambda: run.node.state is NodeState.PAUSED)
            run.world.fetch("https://a.com/", PAGE)
            await run.until(lambda: not run.service._may_work.is_set())
            takes = run.mgmt.takes
            await run.beats(10)
            assert run.chunks("crawled") == 1
            assert run.mgmt.takes <= takes + 1, "a step that had begun may end"
            # A crawl is not over while somebody pauses it.
            await run.until(lambda: not run.facts[-1]["idle"])
            run.mgmt.ask(run.node.id, NodeState.ONLINE)
            await run.until(lambda: run.chunks("built") == 1)
            await run.until(lambda: run.node.state is NodeState.ONLINE)

    asyncio.run(story())


def test_a_pause_outlives_a_restart_and_stopping_builds_nothing_then(tmp_path):
    async def story() -> None:
        run = Running(tmp_path)
        lease = run.mgmt.register(NodeType.INDEX_BUILDER, ADDRESS)
        run.mgmt.ask(lease.node, NodeState.PAUSED)
        run.world.fetch("https://a.com/", PAGE)
        run.work = asyncio.create_task(run.service.run(run.stop))
        await run.until(lambda: run.node.state is NodeState.PAUSED)
        await run.beats(3)
        run.stop.ask("the test is over")
        await asyncio.wait_for(run.work, SOON)
        assert (run.builds, run.chunks("crawled")) == (0, 1)

    asyncio.run(story())


def test_stopped_before_its_first_step_it_builds_what_waits_in_the_scope_of_the_sites(tmp_path):
    async def story() -> None:
        run = Running(tmp_path)
        run.mgmt.set_sites([Site(name="a.com"), Site(name="b.com", is_excluded=True)])
        run.world.fetch("https://a.com/", PAGE + '<a href="https://b.com/">another</a>')
        run.stop.ask("before it begins")
        await asyncio.wait_for(run.service.run(run.stop), SOON)
        assert run.chunks("built") == 1
        assert [run.world.record(f"https://a.com/{name}").phase for name in ("one", "two")] == ["new", "new"]
        assert run.world.record("https://b.com/").reason == "excluded: site b.com"

    asyncio.run(story())


def test_nothing_is_built_while_the_sites_are_not_known(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.index.service.FINISH_SECONDS", 0.3)

    async def story() -> None:
        run = Running(tmp_path)
        run.world.fetch("https://a.com/", PAGE)
        run.mgmt.cannot_read_sites = True
        run.stop.ask("before it begins")
        await asyncio.wait_for(run.service.run(run.stop), SOON)
        assert (run.builds, run.chunks("crawled"), run.chunks("built")) == (0, 1, 0), "the next start builds it"

    asyncio.run(story())


def test_paused_and_stopped_before_it_knows_of_that_it_builds_nothing(tmp_path):
    async def story() -> None:
        run = Running(tmp_path)
        lease = run.mgmt.register(NodeType.INDEX_BUILDER, ADDRESS)
        run.mgmt.ask(lease.node, NodeState.PAUSED)
        run.world.fetch("https://a.com/", PAGE)
        run.stop.ask("before it begins")
        await asyncio.wait_for(run.service.run(run.stop), SOON)
        assert (run.builds, run.chunks("crawled")) == (0, 1)

    asyncio.run(story())


def test_asked_to_drain_it_builds_what_was_crawled_and_leaves(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            run.world.fetch("https://b.com/", PAGE)
            run.mgmt.ask(run.node.id, NodeState.DRAINING)
            await run.until(lambda: run.node.state is NodeState.DRAINING)
            run.may_build.set()
            await asyncio.wait_for(asyncio.shield(run.work), SOON)
            assert run.chunks("built") == 2
            assert run.node.state is NodeState.OFFLINE

    asyncio.run(story())


def test_a_chunk_that_is_built_while_the_control_plane_is_away_is_reported_in_the_end(tmp_path, caplog):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            run.mgmt.is_away = True
            run.may_build.set()
            await run.until(lambda: "control plane unavailable, repeating call=built" in caplog.text)
            assert run.chunks("building") == 1
            run.mgmt.is_away = False
            await run.until(lambda: run.chunks("built") == 1)
            assert run.builds == 1
            assert "control plane available again call=built" in caplog.text

    asyncio.run(story())


def test_stopping_does_not_wait_for_a_control_plane_that_is_away(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.roles.lease.TELL_SECONDS", 0.2)

    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            run.mgmt.is_away = True
            run.mgmt.tell = lambda lease, state: run.mgmt._fail("tell")  # type: ignore[method-assign]
            run.may_build.set()
            run.stop.ask("the test is over")
            await asyncio.wait_for(asyncio.shield(run.work), 5)
            assert run.chunks("building") == 1, "the next registration frees it"
            run.mgmt.is_away = False

    asyncio.run(story())


def test_chunks_whose_answer_was_lost_are_not_held_for_ever(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            run.mgmt.loses_answer = True
            run.world.fetch("https://a.com/", PAGE)
            await run.until(lambda: run.chunks("built") == 1)

    asyncio.run(story())


@pytest.mark.parametrize(("call", "page"), [("built", "<title>No links</title>"), ("reopen", PAGE)])
def test_a_refused_call_is_logged_and_the_work_goes_on(tmp_path, caplog, call, page):
    async def story() -> None:
        async with running(tmp_path) as run:
            run.mgmt.refused = call
            run.world.fetch("https://a.com/", page)
            await run.until(lambda: f"{call} is refused" in caplog.text)
            run.world.fetch("https://b.com/", page)
            await run.until(lambda: run.service.tally.pages == 2)

    asyncio.run(story())


def fail_for(run: Running, uri: bytes, error: Exception) -> None:
    """Let every round fail that has this page in it."""
    apply = run.world.index.apply

    def failing(pages, notes=None):
        pages = list(pages)
        if any(page.uri == uri for page in pages):
            raise error
        return apply(pages, notes)

    run.world.index.apply = failing  # type: ignore[method-assign]


@pytest.mark.parametrize("error", [BatchRefused("store", "a value is too large"), ValueError("a bug")])
def test_a_page_that_cannot_be_loaded_is_put_aside_alone(tmp_path, error):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            fail_for(run, b"com.bad", error)
            run.world.fetch("https://bad.com/", PAGE)
            run.world.fetch("https://good.com/", PAGE)
            run.may_build.set()
            await run.until(lambda: (run.chunks("built"), run.chunks("error")) == (3, 0))
            assert run.world.answers.page("https://good.com/").crawled
            record = run.world.record("https://bad.com/")
            assert record is not None
            assert (record.error, record.failures) == ("unloadable", 1)

    asyncio.run(story())


def test_a_store_that_cannot_be_written_ends_the_process_and_costs_no_page(tmp_path):
    async def story() -> None:
        run = Running(tmp_path)
        fail_for(run, b"com.a", StoreUnwritable("store", "the disk is full"))
        run.world.fetch("https://a.com/", PAGE)
        run.world.fetch("https://b.com/", PAGE)
        with pytest.raises(StoreUnwritable, match="the disk is full"):
            await asyncio.wait_for(run.service.run(run.stop), SOON)
        assert (run.chunks("building"), run.chunks("built")) == (0, 0), "all are offered again"
        assert run.world.record("https://b.com/") is None

    asyncio.run(story())


def test_stopped_at_once_it_finishes_only_the_build_in_hand(tmp_path):
    async def story() -> None:
        async with running(tmp_path) as run:
            await run.begin_slow_build()
            run.world.fetch("https://b.com/", PAGE)
            run.stop.ask("once")
            await run.until(lambda: run.node.state is NodeState.DRAINING)
            run.stop.ask("twice")
            await asyncio.sleep(0.05)
            assert not run.work.done(), "the store must not be closed below the build"
            run.may_build.set()
            await asyncio.wait_for(asyncio.shield(run.work), SOON)
            assert run.builds == 1
            assert run.chunks("built") == 0
            assert run.node.state is NodeState.OFFLINE

    asyncio.run(story())


# Not a whole day ahead: then the first page would be due again, and be pending with the two that it links to.
@pytest.mark.parametrize("seconds", [-86_400, -3_600, 3_600, 80_000])
def test_a_clock_that_is_set_ahead_or_back_holds_nothing_up(tmp_path, seconds):
    async def story() -> None:
        async with running(tmp_path) as run:
            run.world.fetch("https://a.com/", PAGE)
            await run.until(lambda: run.chunks("built") == 1)
            run.world.clock.advance(seconds)
            run.mgmt.heartbeat(run.world.crawler)
            await run.until(lambda: run.mgmt.counts().links["pending"] == 2)
            run.world.fetch("https://a.com/one", "<title>One</title>")
            await run.until(lambda: run.chunks("built") == 2)
            assert run.world.answers.page("https://a.com/one").title == "One"
            beats = run.mgmt.beats
            await run.until(lambda: run.mgmt.beats > beats + 2)
            assert run.node.state is NodeState.ONLINE
            assert run.facts[-1]["rate"] < 1

    asyncio.run(story())
