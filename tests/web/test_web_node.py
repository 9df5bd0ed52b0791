"""The web app as a node: it is listed, it drains, and nothing that happens to the control plane stops it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from weft.cli.web_address import web_node_address
from weft.config import Settings
from weft.config.sections import MgmtSettings
from weft.errors import LeaseLost, MgmtUnavailable
from weft.home import Home
from weft.mgmt.api import Mgmt, WebAppCalls
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.open import mgmt_identity, open_existing_mgmt, open_mgmt
from weft.mgmt.sqlite_copies import database_of
from weft.mgmt.values import Health, Lease, Node, NodeState, NodeType
from weft.roles.calls import ControlPlane
from weft.roles.late_mgmt import LateMgmt
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest
from weft.web.node import Waits, WebNode

ADDRESS = "127.0.0.1:8765"
SOON = 20.0
SETTINGS = MgmtSettings(heartbeat=0.02, lease=10.0)
FIGURES = {"answers": {"2xx": 3}, "seq": 7}


class AwayMgmt(MemoryMgmt):
    """Answers unless it is away."""

    is_away = False
    calls = 0

    def register(self, *node: Any, **about: Any) -> Lease:
        self._look()
        return super().register(*node, **about)

    def heartbeat(self, lease: Lease, told: Any = None) -> NodeState:
        self._look()
        return super().heartbeat(lease, told)

    def tell(self, lease: Lease, state: NodeState) -> None:
        self._look()
        super().tell(lease, state)

    def close(self) -> None:
        pass

    def _look(self) -> None:
        self.calls += 1
        if self.is_away:
            raise MgmtUnavailable("the control plane is away")


class Attended:
    """A node whose app does nothing."""

    def __init__(self, mgmt: WebAppCalls, *, is_supervised: bool = False) -> None:
        control = ControlPlane(mgmt, is_patient=False)
        self.keeper = LeaseKeeper(control, NodeType.WEB_APP, ADDRESS, SETTINGS, may_pause=False)
        self.node = WebNode(control, self.keeper, is_supervised=is_supervised, waits=Waits(0.01, 0.04, 0.01))
        self.stop = StopRequest()

    @asynccontextmanager
    async def attending(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.node.run(lambda: FIGURES, self.stop))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.node.leave()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON):
        while not condition():
            await asyncio.sleep(0.005)


def web_app(mgmt: Mgmt) -> Node | None:
    return next((node for node in mgmt.nodes() if node.type is NodeType.WEB_APP), None)


def is_online(mgmt: Mgmt) -> bool:
    node = web_app(mgmt)
    return node is not None and node.state is NodeState.ONLINE and node.health is Health.HEALTHY


def test_it_registers_tells_its_figures_and_leaves() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        async with Attended(mgmt).attending():
            await until(lambda: (node := web_app(mgmt)) and node.figures.get("seq"))
            node = web_app(mgmt)
            assert (node.address, node.state, node.holds) == (ADDRESS, NodeState.ONLINE, 0)
            assert node.figures["answers"] == {"2xx": 3}
            assert node.figures["process"]["memory"] > 0
        assert [(node.state, node.health) for node in mgmt.nodes()] == [(NodeState.OFFLINE, Health.HEALTHY)]

    asyncio.run(scenario())


def test_it_does_not_pause() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        attended = Attended(mgmt)
        async with attended.attending() as task:
            await until(lambda: is_online(mgmt))
            mgmt.ask(web_app(mgmt).id, NodeState.PAUSED)
            calls = mgmt.calls
            await until(lambda: mgmt.calls > calls + 5)
            assert (web_app(mgmt).state, attended.keeper.is_paused, task.done()) == (NodeState.ONLINE, False, False)

    asyncio.run(scenario())


def test_a_drain_ends_the_app() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        attended = Attended(mgmt)
        async with attended.attending() as task:
            await until(lambda: is_online(mgmt))
            assert not attended.stop.asked.is_set()
            mgmt.ask(web_app(mgmt).id, NodeState.DRAINING)
            await until(task.done)
            assert attended.stop.asked.is_set()
            assert not attended.stop.at_once.is_set()

    asyncio.run(scenario())


def test_it_outlives_all_others_that_drain_so_that_people_can_watch_them() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        attended, spider = Attended(mgmt), mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
        mgmt.register(NodeType.WEB_APP, "127.0.0.1:8766")
        async with attended.attending():
            await until(lambda: len(mgmt.nodes()) == 3)
            for node in mgmt.nodes():
                mgmt.ask(node.id, NodeState.DRAINING)
            own = next(node.id for node in mgmt.nodes() if node.address == ADDRESS)
            await until(lambda: {node.id: node.state for node in mgmt.nodes()}[own] is NodeState.DRAINING)
            calls = mgmt.calls
            await until(lambda: mgmt.calls > calls + 5)
            assert not attended.stop.asked.is_set(), "the spider has not ended"
            mgmt.tell(spider, NodeState.OFFLINE)
            await until(attended.stop.asked.is_set)

    asyncio.run(scenario())


def test_a_supervised_one_goes_on_until_its_supervisor_ends_the_run() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        attended = Attended(mgmt, is_supervised=True)
        async with attended.attending() as task:
            await until(lambda: is_online(mgmt))
            mgmt.ask(web_app(mgmt).id, NodeState.DRAINING)
            await until(attended.keeper.drain_requested.is_set)
            calls = mgmt.calls
            await until(lambda: mgmt.calls > calls + 5)
            assert (task.done(), attended.stop.asked.is_set()) == (False, False)

    asyncio.run(scenario())


def test_a_lost_lease_is_taken_again(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        async with Attended(mgmt).attending():
            await until(lambda: is_online(mgmt))
            taken = mgmt.register(NodeType.WEB_APP, ADDRESS)
            await until(lambda: web_app(mgmt).epoch > taken.epoch and is_online(mgmt))
            with pytest.raises(LeaseLost):
                mgmt.heartbeat(taken)

    asyncio.run(scenario())
    assert [record.message for record in caplog.records if record.levelname != "INFO"] == []


def test_a_control_plane_that_is_away_is_told_once_and_asked_less_and_less(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        mgmt.is_away = True
        async with Attended(mgmt).attending() as task:
            await until(lambda: mgmt.calls > 8)
            assert not task.done()
            mgmt.is_away = False
            await until(lambda: is_online(mgmt))
            calls = mgmt.calls
            await until(lambda: mgmt.calls > calls + 2)  # a heartbeat was answered: the next silence is another one
            mgmt.is_away = True
            calls = mgmt.calls
            await until(lambda: mgmt.calls > calls + 8)
            mgmt.is_away = False
            await until(lambda: is_online(mgmt))

    asyncio.run(scenario())
    told = [record for record in caplog.records if record.levelname == "WARNING"]
    assert [record.message.partition(" reason=")[2] for record in told] == ["the control plane is away"] * 2
    assert [record for record in caplog.records if record.exc_info] == []


def test_it_ends_soon_while_the_control_plane_is_away() -> None:
    async def scenario() -> None:
        mgmt = AwayMgmt()
        async with asyncio.timeout(SOON), Attended(mgmt).attending():
            await until(lambda: is_online(mgmt))
            mgmt.is_away = True

    asyncio.run(scenario())


# A control plane in a file.


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.make("")
    return made


@pytest.fixture
def late(home: Home) -> Iterator[LateMgmt]:
    settings = Settings()
    with closing(LateMgmt(lambda: open_existing_mgmt(settings, home), lambda: mgmt_identity(settings, home))) as made:
        yield made


def has_joined(home: Home) -> bool:
    with closing(open_mgmt(Settings(), home)) as mgmt:
        return is_online(mgmt)


def test_it_makes_no_control_plane_and_joins_the_one_that_somebody_makes(home: Home, late: LateMgmt) -> None:
    async def scenario() -> None:
        async with Attended(late).attending():
            await asyncio.sleep(0.2)
            assert [file.name for file in home.path.glob("mgmt*")] == []
            open_mgmt(Settings(), home).close()
            await until(lambda: has_joined(home))

    asyncio.run(scenario())
    with closing(open_mgmt(Settings(), home)) as mgmt:
        assert web_app(mgmt).state is NodeState.OFFLINE
    assert not database_of(home).with_name("mgmt.db-locks").exists(), "`weft restore` need not wait for it"


@pytest.mark.parametrize("instead", [None, b"", b"this is no database\n" * 100])
def test_it_joins_again_after_the_control_plane_was_lost(
    home: Home, late: LateMgmt, instead: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    database = database_of(home)
    open_mgmt(Settings(), home).close()
    (home.path / "mgmt.db-locks").mkdir()
    kept = database.read_bytes()

    async def scenario() -> None:
        async with Attended(late).attending() as task:
            await until(lambda: has_joined(home))
            for file in home.path.glob("mgmt.db*"):
                if file.is_file():
                    file.unlink()
            if instead is not None:
                database.write_bytes(instead)
            await until(lambda: "not known to the control plane" in caplog.text)
            assert not task.done()
            assert (database.read_bytes() if database.exists() else None) == instead, "nothing is made in its place"
            database.unlink(missing_ok=True)
            database.write_bytes(kept)
            await until(lambda: has_joined(home))

    asyncio.run(scenario())
    assert caplog.text.count("not known to the control plane") == 1
    assert [record for record in caplog.records if record.exc_info] == []


def test_a_lease_does_not_count_in_another_database_that_took_its_place(home: Home, late: LateMgmt) -> None:
    with closing(open_mgmt(Settings(), home)) as mgmt:
        pass
    lease = late.register(NodeType.WEB_APP, ADDRESS)
    database_of(home).rename(home.path / "before.db")
    with closing(open_mgmt(Settings(), home)) as mgmt:
        other = mgmt.register(NodeType.SPIDER, "127.0.0.1:7070")
        assert (other.node, other.epoch) == (lease.node, lease.epoch), "the numbers of one are those of the other"
        with pytest.raises(LeaseLost):
            late.heartbeat(lease)
        with pytest.raises(LeaseLost):
            late.tell(lease, NodeState.OFFLINE)
        assert [node.state for node in mgmt.nodes()] == [NodeState.ONLINE]


# Its address.


@pytest.mark.parametrize(
    ("listen", "url", "address"),
    [
        (("127.0.0.1", 8765), "sqlite:", "127.0.0.1:8765"),
        (("::1", 8765), "sqlite:", "[::1]:8765"),
        (("0.0.0.0", 8765), "sqlite:", "crawl1:8765"),
        (("::", 8766), "postgresql://db/weft", "crawl1:8766"),
        (("127.0.0.1", 8765), "postgresql://db/weft", "crawl1:8765"),
        (("10.0.0.2", 8765), "postgresql://db/weft", "10.0.0.2:8765"),
    ],
)
def test_its_address_is_its_own_among_all_machines(listen: tuple[str, int], url: str, address: str) -> None:
    settings = Settings(mgmt=MgmtSettings(url=url, machine="crawl1"))
    assert web_node_address(settings, listen) == address
