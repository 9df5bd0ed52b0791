"""The loop of an index server: whatever the control plane does, pages become searchable and are acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.failing_mgmt import How, OnceFailingMgmt
from support.search_servers import page
from support.search_world import SearchWorld, put_in_place
from weft.clock import MonotonicClock
from weft.config.sections import MgmtSettings
from weft.mgmt.values import NodeState, NodeType
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest
from weft.search import service
from weft.search.served_shards import ServedShards
from weft.search.service import IndexServer, ServerResources
from weft.search.shard_upkeep import ShardUpkeep

ADDRESS = "127.0.0.1:7071"
SOON = 20.0


class Run:
    """An index server over an index in memory, without its port."""

    def __init__(self, place: Path, call: str = "", how: How = How.BEFORE) -> None:
        self.world = SearchWorld(place / "row", shards=2)
        self.world.indexer.own([])
        self.mgmt = OnceFailingMgmt(call, how, ADDRESS)
        self.acknowledged: list[int] = []
        really = self.mgmt.acknowledge

        def acknowledge(lease: Any, seq: int) -> None:
            really(lease, seq)
            self.acknowledged.append(seq)

        self.mgmt.acknowledge = acknowledge  # type: ignore[method-assign, assignment]
        control = ControlPlane(self.mgmt)
        self.keeper = LeaseKeeper(
            control, NodeType.INDEX_SERVER, ADDRESS, MgmtSettings(heartbeat=0.02, lease=10.0), row=1
        )
        clock = MonotonicClock()
        self.upkeep = ShardUpkeep(self.world.indexer, ServedShards(self.world.indexer.directory), 1, 2, clock)
        self.told: list[dict[str, Any]] = []
        self.server = IndexServer(ServerResources(control, self.keeper, self.upkeep, 0.01, self.told.append))
        self.stop = StopRequest()

    async def work(self) -> None:
        await self.keeper.register()
        try:
            await self.server.run(self.stop)
        finally:
            await self.server.close()

    def load(self, number: int) -> None:
        self.world.load(page(f"http://s{number}.com/", text=f"number{number}"))

    async def until(self, work: asyncio.Task[None], condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SOON):
            while not condition():
                assert not work.done(), f"the server ended by itself: {work}"
                await asyncio.sleep(0.005)

    @property
    def seq(self) -> int:
        return self.upkeep.figures.content


@pytest.mark.parametrize("how", How)
@pytest.mark.parametrize("call", ["register", "heartbeat", "own_shards", "acknowledge", "tell"])
def test_an_index_server_gets_its_work_done(tmp_path: Path, call: str, how: How) -> None:
    if how is How.REFUSED and call == "register":
        pytest.skip("a node that may not register ends with a sentence")

    async def story() -> None:
        run = Run(tmp_path, call, how)
        run.load(1)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.seq == 1)
        run.load(2)
        await run.until(work, lambda: run.seq == 2)
        run.world.clock.advance(10)
        await run.until(work, lambda: run.acknowledged[-1:] == [2])
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, SOON)
        assert run.mgmt.failed == 1
        assert run.world.held() == run.world.expected()
        assert [node.state for node in run.mgmt.nodes()] == [NodeState.OFFLINE] or call == "tell"
        assert run.told[-1]["ended"] is True
        run.world.close()

    asyncio.run(story())


def test_while_the_control_plane_is_away_pages_become_searchable(tmp_path: Path) -> None:
    async def story() -> None:
        run = Run(tmp_path, "acknowledge")
        work = asyncio.create_task(run.work())
        run.load(1)
        await run.until(work, lambda: run.seq == 1)
        run.mgmt.times = 1_000_000
        run.world.clock.advance(10)
        await run.until(work, lambda: run.mgmt.failed)
        for number in range(2, 6):
            run.load(number)
            await run.until(work, lambda number=number: run.seq == number)  # type: ignore[misc]
        run.mgmt.times = 0
        run.world.clock.advance(10)
        await run.until(work, lambda: run.acknowledged[-1:] == [5])
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, SOON)
        run.world.close()

    asyncio.run(story())


def test_what_is_loaded_before_it_is_stopped_is_searchable_when_it_ends(tmp_path: Path) -> None:
    async def story() -> None:
        run = Run(tmp_path)
        for number in range(50):
            run.load(number)
        run.stop.ask("before it has begun")
        await asyncio.wait_for(run.work(), SOON)
        assert run.world.held() == run.world.expected()
        assert run.acknowledged[-1] == run.world.store.last_seq
        run.world.close()

    asyncio.run(story())


def test_a_server_that_gets_nothing_done_does_not_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "FINISH_SECONDS", 0.5)

    async def story() -> None:
        run = Run(tmp_path)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.acknowledged)

        def full() -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(run.world.indexer, "step", full)
        run.load(1)
        await run.until(work, lambda: run.upkeep.figures.problem)
        run.stop.ask("the disk is full")
        await asyncio.wait_for(work, SOON)
        run.world.close()

    asyncio.run(story())


def test_a_second_request_stops_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        run = Run(tmp_path)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.acknowledged)
        monkeypatch.setattr(run.upkeep, "finish", lambda wanted, is_stopping: False)
        run.stop.ask("once")
        await asyncio.sleep(0.3)
        assert not work.done()
        run.stop.ask("twice")
        await asyncio.wait_for(work, 5)
        run.world.close()

    asyncio.run(story())


def test_shards_are_divided_when_another_server_comes_and_taken_back_when_it_leaves(tmp_path: Path) -> None:
    async def story() -> None:
        run = Run(tmp_path)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.upkeep.owned == {0, 1})
        other = run.mgmt.register(NodeType.INDEX_SERVER, "127.0.0.1:7072", 1)
        run.mgmt.own_shards(other, 2)
        await run.until(work, lambda: len(run.upkeep.owned) == 1)
        # It gets the other one when the first has told that it let go of it.
        await run.until(work, lambda: run.mgmt.own_shards(other, 2) == {0, 1} - run.upkeep.owned)
        assert len(run.upkeep.owned) == 1
        run.load(1)
        await run.until(work, lambda: run.seq == 1)
        run.mgmt.tell(other, NodeState.OFFLINE)
        await run.until(work, lambda: run.upkeep.owned == {0, 1} and run.seq == 1)
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, SOON)
        assert run.world.held() == run.world.expected()
        run.world.close()

    asyncio.run(story())


def test_one_that_is_paused_answers_and_writes_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        run = Run(tmp_path)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.acknowledged)
        run.mgmt.ask(run.mgmt.nodes()[0].id, NodeState.PAUSED)
        await run.until(work, lambda: run.keeper.is_paused)
        await asyncio.sleep(0.1)
        run.load(1)
        await asyncio.sleep(0.2)
        assert run.seq == 0
        assert run.upkeep.figures.shards == [0, 1]
        run.mgmt.ask(run.mgmt.nodes()[0].id, NodeState.ONLINE)
        await run.until(work, lambda: run.seq == 1)
        run.mgmt.ask(run.mgmt.nodes()[0].id, NodeState.DRAINING)
        await asyncio.wait_for(work, SOON)
        run.world.close()

    asyncio.run(story())


def test_after_damage_nothing_is_acknowledged_until_it_is_built_anew(tmp_path: Path) -> None:
    async def story() -> None:
        run = Run(tmp_path)
        work = asyncio.create_task(run.work())
        await run.until(work, lambda: run.acknowledged)
        first = run.keeper.lease.epoch
        for file in run.world.directories()[0].current().glob("*.store"):
            put_in_place(file, b"\xff" + file.read_bytes()[1:])
        run.upkeep.served.suspect(0)
        await run.until(work, lambda: run.upkeep.figures.built == 3)
        await run.until(work, lambda: run.keeper.lease.epoch > first)
        await run.until(work, lambda: run.upkeep.owned == {0, 1})
        run.stop.ask("the test is over")
        await asyncio.wait_for(work, SOON)
        run.world.close()

    asyncio.run(story())
