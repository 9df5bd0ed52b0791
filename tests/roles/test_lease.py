"""A role's lease: renewed, measured by our own clock, replaced when it is lost, given up at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from weft.clock import ManualClock
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtError, MgmtUnavailable
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeState, NodeType
from weft.roles import lease as leases
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper

ADDRESS = "127.0.0.1:1"
SETTINGS = MgmtSettings(heartbeat=0.01, lease=45.0)


class FailingMgmt(MemoryMgmt):
    error: Exception | None = None
    registrations = 0
    on_beat = staticmethod(lambda: None)

    def register(self, *node, **about):
        self.registrations += 1
        return super().register(*node, **about)

    def heartbeat(self, lease, told=None):
        self.on_beat()
        if self.error:
            raise self.error
        return super().heartbeat(lease, told)

    def tell(self, lease, state):
        if self.error:
            raise self.error
        super().tell(lease, state)


class Story:
    def __init__(self) -> None:
        self.mgmt, self.clock = FailingMgmt(), ManualClock(5_000)
        self.control = ControlPlane(self.mgmt)
        self.keeper = LeaseKeeper(self.control, NodeType.SPIDER, ADDRESS, SETTINGS, self.clock)

    @property
    def node(self):
        (node,) = self.mgmt.nodes()
        return node

    def ask(self, state: NodeState) -> None:
        self.mgmt.ask(self.node.id, state)

    def take_name(self) -> None:
        """As if others took this node for dead."""
        self.mgmt.register(NodeType.SPIDER, ADDRESS)

    @asynccontextmanager
    async def beating(self, **options: bool) -> AsyncIterator[asyncio.Queue[NodeState]]:
        beats: asyncio.Queue[NodeState] = asyncio.Queue()

        async def beat() -> None:
            async for asked in self.keeper.heartbeats(**options):
                beats.put_nowait(asked)

        async with asyncio.timeout(10):
            self.beating_task = asyncio.create_task(beat())
            try:
                yield beats
            finally:
                self.beating_task.cancel()


def told(work) -> None:
    async def run() -> None:
        story = Story()
        await story.keeper.register()
        await work(story)
        story.control.close()

    asyncio.run(run())


def test_a_lease_counts_from_before_its_heartbeat_and_not_before_the_first():
    async def work(story: Story) -> None:
        assert story.keeper.valid_until == 0
        # The answer takes its time: others count from the moment in between.
        story.mgmt.on_beat = lambda: story.clock.advance(7)
        async with story.beating() as beats:
            began = story.clock.now()
            await beats.get()
            assert story.keeper.valid_until == began + 45_000

    told(work)


def test_a_new_lease_is_not_valid_before_its_own_heartbeat():
    async def work(story: Story) -> None:
        async with story.beating() as beats:
            await beats.get()
        assert story.keeper.valid_until > 0
        await story.keeper.register()
        assert story.keeper.valid_until == 0

    told(work)


def test_a_heartbeat_that_fails_does_not_lengthen_the_lease(caplog):
    async def work(story: Story) -> None:
        async with story.beating() as beats:
            await beats.get()
            until, story.mgmt.error = story.keeper.valid_until, MgmtError("refused")
            story.clock.advance(10)
            while caplog.text.count("heartbeat failed") < 3:
                await asyncio.sleep(0.005)
            while not beats.empty():
                beats.get_nowait()
            assert story.keeper.valid_until in (until, until + 10_000)
            assert beats.empty()
            story.mgmt.error = None
            await beats.get()
            assert story.keeper.valid_until == until + 10_000

    told(work)


def test_what_a_node_is_asked_to_be_is_known_and_told_back():
    async def work(story: Story) -> None:
        async with story.beating() as beats:
            for state in (NodeState.PAUSED, NodeState.ONLINE):
                story.ask(state)
                while await beats.get() is not state:
                    pass
                assert story.keeper.is_paused == (state is NodeState.PAUSED)
                assert story.node.state is state
            story.ask(NodeState.DRAINING)
            await story.keeper.drain_requested.wait()

    told(work)


def test_a_role_that_drains_is_not_made_to_say_otherwise_by_its_heartbeats():
    async def work(story: Story) -> None:
        async with story.beating() as beats:
            assert await story.keeper.drain()
            for _ in range(3):
                await beats.get()
            assert story.node.state is NodeState.DRAINING
            await story.keeper.leave()
        assert [node.state for node in story.mgmt.nodes()] == [NodeState.OFFLINE]

    told(work)


def test_a_lost_lease_is_raised_for_a_role_that_holds_work():
    async def work(story: Story) -> None:
        async with story.beating() as beats:
            await beats.get()
            story.take_name()
            with pytest.raises(LeaseLost):
                await story.beating_task

    told(work)


def test_a_lost_lease_is_replaced_once_for_a_role_that_holds_none():
    async def work(story: Story) -> None:
        lost = story.keeper.lease
        async with story.beating(registers_again=True) as beats:
            await beats.get()
            story.take_name()
            # The heartbeat and two calls of the role find out at the same time.
            await asyncio.gather(*(story.keeper.register_again(lost) for _ in range(2)))
            assert story.mgmt.registrations == 3, "the first one, somebody else's and one that replaces it"
            epoch = story.keeper.lease.epoch
            while not beats.empty():
                beats.get_nowait()
            for _ in range(3):
                await beats.get()
            assert story.keeper.lease.epoch == epoch == story.node.epoch

    told(work)


def test_leaving_does_not_wait_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(leases, "TELL_SECONDS", 0.05)

    async def work(story: Story) -> None:
        story.mgmt.error = MgmtUnavailable("away")
        assert not await story.keeper.drain()
        await story.keeper.leave()
        assert f"control plane was not told that {ADDRESS} is offline" in caplog.text

    told(work)


def test_releasing_gives_back_what_the_role_does_not_know_of():
    async def work(story: Story) -> None:
        before = story.keeper.lease
        async with story.beating(registers_again=True) as beats:
            await beats.get()
            await story.keeper.release()
            while not beats.empty():
                beats.get_nowait()
            await beats.get()
            with pytest.raises(LeaseLost):
                MemoryMgmt.heartbeat(story.mgmt, before)
            assert story.node.epoch == story.keeper.lease.epoch

    told(work)


def test_news_are_told_before_the_next_heartbeat_is_due():
    async def scenario():
        mgmt = FailingMgmt()
        control = ControlPlane(mgmt)
        keeper = LeaseKeeper(
            control, NodeType.INDEX_SERVER, ADDRESS, MgmtSettings(heartbeat=60.0, lease=200.0), ManualClock(), row=3
        )
        await keeper.register()
        assert mgmt.nodes()[0].row == 3
        beats = keeper.heartbeats()
        await anext(beats)
        keeper.figures = lambda: {"shards": [1]}
        keeper.beat_soon()
        async with asyncio.timeout(5):
            await anext(beats)
        assert mgmt.nodes()[0].figures["shards"] == [1]
        control.close()

    asyncio.run(scenario())


def test_a_node_says_why_it_may_not_work():
    async def scenario():
        story = Story()
        assert "no lease" in story.keeper.problem
        await story.keeper.register()
        assert "no lease" in story.keeper.problem, "no heartbeat was answered yet"
        await anext(story.keeper.heartbeats())
        assert story.keeper.problem == ""
        story.clock.advance(SETTINGS.lease + 3)
        assert "ended 3 s ago" in story.keeper.problem
        story.control.close()

    asyncio.run(scenario())


def test_a_heartbeat_tells_of_the_process_and_its_calls():
    async def scenario():
        story = Story()
        await story.keeper.register()
        beats = story.keeper.heartbeats()
        await anext(beats)
        await anext(beats)
        figures = story.node.figures
        assert figures["control"]["calls"] == {"register": 1, "heartbeat": 1}, "those before this one"
        assert figures["control"]["seconds"].keys() == {"register", "heartbeat"}
        assert figures["process"]["cpu"] > 0
        story.control.close()

    asyncio.run(scenario())
