"""The index process while a node with records is away: others go on, nothing is lost, and nothing is loaded twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from support.built_world import RULES, SETTINGS, World
from support.record_node import RecordNode
from weft.archive.record_connection import NodeAccess
from weft.clock import MonotonicClock
from weft.config import Settings
from weft.config.sections import MgmtSettings
from weft.errors import MgmtError, MgmtUnavailable, NotKnown
from weft.index import node_thread
from weft.index.fetch_reader_pool import fetch_reader_pool
from weft.index.parking import Parking
from weft.index.reading_lanes import ReadingLanes
from weft.index.remote_reading import RemoteReading
from weft.index.service import IndexResources, IndexService
from weft.linkindex.verify import verify
from weft.mgmt.memory import MemoryMgmt
from weft.mgmt.values import NodeType
from weft.model.site import Site
from weft.roles.calls import ControlPlane
from weft.roles.lease import LeaseKeeper
from weft.roles.stop import StopRequest

ADDRESS = "index@test"
SOON = 20.0
HOUR = 3600
PAGE = "<title>Page</title>"


class TestedMgmt(MemoryMgmt):
    """Counts calls, and fails the way a test asks for."""

    __test__ = False

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.waits: list[tuple[str, int]] = []
        self.back: list[str] = []
        self.fails: Exception | None = None

    def wait_for_records(self, builder, chunk, attempt, node, wait):
        if self.fails is not None:
            error, self.fails = self.fails, None
            raise error
        self.waits.append((node, wait))
        return super().wait_for_records(builder, chunk, attempt, node, wait)

    def records_back(self, builder, node=""):
        self.back.append(node)
        return super().records_back(builder, node)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_thread, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(node_thread, "LONGEST_PAUSE", 0.1)


@pytest.fixture(scope="module")
def lanes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReadingLanes]:
    with fetch_reader_pool(Settings(), RULES, tmp_path_factory.mktemp("here"), workers=1) as made:
        yield made


class Machines:
    """Two spiders with archives of their own, and what the index process of a third machine needs."""

    def __init__(self, place: Path, lanes: ReadingLanes) -> None:
        self.lanes, self.place = lanes, place
        self.world = World(place)
        self.mgmt = self.world.mgmt = TestedMgmt(self.world.clock)
        self.mgmt.set_sites([Site(name="*", scope="any")])
        self.world.crawler = self.mgmt.register(NodeType.CRAWLER, "crawler")
        self.world.dispatcher._mgmt = self.mgmt
        self.near, self.far = RecordNode(place / "warc"), RecordNode(place / "warc")
        self.near.start()
        self.far.start()

    def close(self) -> None:
        self.near.stop()
        self.far.stop()
        self.world.close()

    def fetch(self, node: RecordNode, *names: str) -> None:
        """Pages https://NAME.com/, as one chunk."""
        self.world.node = node.address
        self.world.fetch_chunk({f"https://{name}.com/": PAGE for name in names})

    def is_loaded(self, name: str) -> bool:
        try:
            return self.world.answers.page(f"https://{name}.com/").title == "Page"
        except NotKnown:
            return False

    def chunks(self, task: str) -> int:
        return self.mgmt.counts().chunks.get(task, 0)


class Running:
    """An index process."""

    def __init__(self, machines: Machines, patience: float) -> None:
        world, control = machines.world, ControlPlane(machines.mgmt)
        self.reading = RemoteReading(machines.lanes, machines.place / "none", NodeAccess(connect_seconds=2.0))
        world.reading = self.reading
        self.facts: list[dict[str, Any]] = []
        self.service = IndexService(
            IndexResources(
                control=control,
                keeper=LeaseKeeper(control, NodeType.INDEX_BUILDER, ADDRESS, MgmtSettings(heartbeat=0.05, lease=10.0)),
                builder=world.new_builder(parking=Parking(self.reading, patience)),
                dispatcher=world.dispatcher,
                settings=SETTINGS,
                clock=MonotonicClock(),
                write_status=self.facts.append,
            )
        )
        self.stop = StopRequest()
        self.work = asyncio.create_task(self.service.run(self.stop))

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(SOON):
            while not condition():
                assert not self.work.done(), f"the service ended by itself: {self.work}"
                await asyncio.sleep(0.005)


@asynccontextmanager
async def running(machines: Machines, patience: float = HOUR) -> AsyncIterator[Running]:
    run = Running(machines, patience)
    try:
        with run.reading:
            yield run
            run.stop.ask("the test is over")
            await asyncio.wait_for(asyncio.shield(run.work), SOON)
    finally:
        run.work.cancel()
        machines.lanes.drop()
    assert verify(machines.world.store, "all", machines.place).differences == 0


def story(tmp_path: Path, lanes: ReadingLanes, tell: Callable[[Machines], Any]) -> None:
    with closing(Machines(tmp_path, lanes)) as machines:
        asyncio.run(tell(machines))


def test_other_chunks_go_on_while_a_node_is_away_and_its_own_are_loaded_when_it_is_back(
    tmp_path: Path, lanes: ReadingLanes
) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        machines.fetch(machines.far, "a", "b")
        machines.fetch(machines.near, "c")
        async with running(machines) as run:
            await run.until(lambda: machines.is_loaded("c") and machines.chunks("waiting") == 1)
            assert machines.mgmt.waits == [(machines.far.address, 300_000)]
            await run.until(lambda: run.facts[-1]["away"])
            assert run.facts[-1]["away"][machines.far.address]["reason"] == "refuses the connection"
            machines.fetch(machines.near, "d")
            await run.until(lambda: machines.is_loaded("d"))
            assert not machines.is_loaded("a")
            machines.far.start()
            await run.until(lambda: machines.chunks("built") == 3)
            assert machines.is_loaded("a")
            assert machines.is_loaded("b")
            assert machines.far.address in machines.mgmt.back
            await run.until(lambda: run.facts[-1]["away"] == {})
            assert run.service.tally.pages == 4, "each once"
            assert machines.chunks("error") == 0

    story(tmp_path, lanes, tell)


def test_what_was_loaded_of_a_chunk_stays_loaded(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        mixed_chunk(machines)
        async with running(machines) as run:
            await run.until(lambda: machines.chunks("waiting") == 1)
            assert (machines.is_loaded("a"), machines.is_loaded("b")) == (True, False)
            machines.far.start()
            await run.until(lambda: machines.chunks("built") == 1)
            assert machines.is_loaded("b")
            assert (run.service.tally.pages, run.service.tally.results) == (2, 2)

    story(tmp_path, lanes, tell)


def mixed_chunk(machines: Machines) -> None:
    """One chunk with a page of each node."""
    answer, world = machines.world._answer, machines.world

    def by_name(link: Any, *about: Any, **more: Any) -> None:
        world.node = (machines.near if "a.com" in link.url else machines.far).address
        answer(link, *about, **more)

    world._answer = by_name  # type: ignore[method-assign]
    world.fetch_chunk({"https://a.com/": PAGE, "https://b.com/": PAGE})
    world._answer = answer  # type: ignore[method-assign]


def test_an_index_process_that_is_started_again_reads_only_what_is_missing(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        mixed_chunk(machines)
        async with running(machines) as run:
            await run.until(lambda: machines.chunks("waiting") == 1)
        machines.far.start()
        async with running(machines) as run:
            # It does not know who was away: everything that waits is tried at once.
            await run.until(lambda: machines.chunks("built") == 1)
            assert machines.is_loaded("b")
            assert run.service.tally.pages == 1, "not a.com again"

    story(tmp_path, lanes, tell)


def test_a_chunk_is_tried_again_after_its_wait_without_a_word_of_its_node(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        machines.fetch(machines.far, "a")
        async with running(machines) as run:
            await run.until(lambda: len(machines.mgmt.waits) == 1)
            await asyncio.sleep(0.2)
            assert len(machines.mgmt.waits) == 1
            machines.world.clock.advance(301)
            await run.until(lambda: len(machines.mgmt.waits) == 2)

    story(tmp_path, lanes, tell)


def test_when_patience_is_over_the_page_has_failed_and_is_due_at_once(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        mixed_chunk(machines)
        async with running(machines, patience=400) as run:
            await run.until(lambda: len(machines.mgmt.waits) == 1)
            machines.world.clock.advance(301)
            await run.until(lambda: len(machines.mgmt.waits) == 2)
            assert [wait for _, wait in machines.mgmt.waits] == [300_000, 99_000]
            machines.world.clock.advance(100)
            await run.until(lambda: machines.chunks("built") == 1)
            record = machines.world.record("https://b.com/")
            assert record is not None
            assert (record.error, record.failures) == ("archive", 1)
            assert record.due <= machines.world.clock.now()
            assert machines.is_loaded("a")
            pending = "https://b.com/"
            await run.until(lambda: machines.mgmt.known(["com.b"])["com.b"].state == "pending")
            assert machines.mgmt.known(["com.b"])["com.b"].url == pending

    story(tmp_path, lanes, tell)


def test_without_patience_nothing_waits(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        machines.fetch(machines.far, "a")
        async with running(machines, patience=0) as run:
            await run.until(lambda: machines.chunks("built") == 1)
            assert machines.mgmt.waits == []

    story(tmp_path, lanes, tell)


@pytest.mark.parametrize("error", [MgmtUnavailable("the answer was lost"), MgmtError("refused")])
def test_a_chunk_whose_wait_is_not_taken_is_not_held_for_ever(
    tmp_path: Path, lanes: ReadingLanes, error: MgmtError
) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        machines.mgmt.fails = error
        machines.fetch(machines.far, "a")
        async with running(machines) as run:
            await run.until(lambda: machines.chunks("waiting") == 1)
            machines.far.start()
            await run.until(lambda: machines.chunks("built") == 1)
            assert machines.is_loaded("a")

    story(tmp_path, lanes, tell)


def test_a_lease_lost_while_chunks_wait_costs_nothing(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        machines.far.stop()
        mixed_chunk(machines)
        async with running(machines) as run:
            await run.until(lambda: machines.chunks("waiting") == 1)
            machines.mgmt.register(NodeType.INDEX_BUILDER, ADDRESS)  # somebody takes our name
            machines.far.start()
            await run.until(lambda: machines.chunks("built") == 1)
            assert run.service.tally.pages == 2

    story(tmp_path, lanes, tell)


def test_a_node_that_comes_and_goes_loses_nothing(tmp_path: Path, lanes: ReadingLanes) -> None:
    async def tell(machines: Machines) -> None:
        async with running(machines) as run:
            for number in range(8):
                machines.fetch(machines.far, f"f{number}", f"g{number}")
                machines.fetch(machines.near, f"n{number}")
                (machines.far.stop if number % 2 == 0 else machines.far.start)()
                await asyncio.sleep(0.05)
            await run.until(lambda: machines.chunks("built") == 16)
            assert run.service.tally.pages == 24
            assert machines.chunks("error") == 0

    story(tmp_path, lanes, tell)
