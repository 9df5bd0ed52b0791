"""`weft run index`: wires the index process, the one writer of the store."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from weft.cli.invocation import AGO, Invocation, command, rules_of
from weft.cli.metrics_flag import metrics_access, metrics_option, serving_metrics
from weft.cli.output import say

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.config import Settings
    from weft.home import Home
    from weft.index.reading_lanes import FetchReading
    from weft.index.record_nodes import RecordNodes
    from weft.index.service import ClusterPart, IndexResources, IndexService
    from weft.metrics.endpoint import MetricsAccess
    from weft.mgmt.api import BuilderCalls, Mgmt
    from weft.roles.calls import ControlPlane
    from weft.roles.lease import LeaseKeeper
    from weft.roles.stop import StopRequest
    from weft.store.api import Store

log = logging.getLogger(__name__)


@command("index")
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of parsing processes (default: one fewer than processors)."
)
@click.option(
    "--again",
    type=AGO,
    metavar="S",
    help="Refetch pages that were fetched more than S seconds ago.",
)
@metrics_option
@click.pass_obj
def run(invocation: Invocation, workers: int | None, again: float | None, metrics: str | None) -> None:
    """Load crawled pages into the index, and choose what to crawl next.

    In a cluster one process does this at a time: a second one stands by, and takes over when the first one is gone.
    """
    from weft.mgmt.open import open_mgmt
    from weft.roles.calls import ControlPlane
    from weft.roles.identity import require_identity
    from weft.roles.log_output import begin_logging
    from weft.roles.memory_return import return_memory
    from weft.roles.run_token import with_run_token
    from weft.roles.stop import run_role
    from weft.store.open import is_cluster

    settings, home = invocation.load().settings, invocation.home_to_write()
    begin_logging()
    return_memory()
    own = with_run_token(settings, home.path)
    runs = _run_owner_or_standby if is_cluster(settings) else _run_embedded
    with metrics_access(own, metrics) as told, closing(open_mgmt(settings, home)) as mgmt:
        require_identity(mgmt, settings)
        process = IndexProcess(own, home, mgmt, ControlPlane(mgmt), workers, again)
        run_role(lambda stop: runs(process, told, stop))
        process.control.close()


class IndexProcess(NamedTuple):
    """What the index process has for as long as it runs."""

    settings: Settings
    home: Home
    mgmt: Mgmt
    control: ControlPlane[BuilderCalls]
    workers: int | None
    again: float | None


async def _run_embedded(process: IndexProcess, metrics: MetricsAccess | None, stop: StopRequest) -> None:
    from weft.roles.identity import require_store
    from weft.roles.index_ownership import store_owner
    from weft.store.open import open_store

    settings, home = process.settings, process.home
    with open_store(home.store, settings) as store, upkeep(settings, home), _reading(process) as (reading, nodes):
        require_store(process.mgmt, settings, store_owner(settings, home, store))
        resources = make_resources(process, make_keeper(process, is_sole=True), store, reading, nodes)
        _force_due(process, store, resources)
        say("index runs")
        async with serving_metrics(metrics, resources.keeper):
            with care_of_size(home, settings):
                await _service(resources).run(stop)


async def _run_owner_or_standby(process: IndexProcess, metrics: MetricsAccess | None, stop: StopRequest) -> None:
    from weft.errors import LeaseLost, OwnerReplaced
    from weft.roles.index_ownership import writer_lock

    keeper = make_keeper(process, is_sole=False)
    with writer_lock(process.home):
        async with serving_metrics(metrics, keeper):
            while not stop.asked.is_set() and not keeper.drain_requested.is_set():
                try:
                    await _own_once(process, keeper, stop)
                except (LeaseLost, OwnerReplaced) as error:
                    log.warning("the index is another's now, standing by reason=%s", error)


async def _own_once(process: IndexProcess, keeper: LeaseKeeper, stop: StopRequest) -> None:
    """Stand by, own the index, and lose it or end; every time with nothing left in memory from before."""
    from threading import Event

    from weft.dispatcher.domain_work import listed_cells
    from weft.index.service import ClusterPart
    from weft.index.standby import StandBy
    from weft.roles.identity import require_store
    from weft.roles.index_ownership import store_owner
    from weft.roles.store_registry import MgmtRegistry
    from weft.store.open import open_cluster

    settings, home, given_up = process.settings, process.home, Event()
    registries: list[MgmtRegistry] = []
    with open_cluster(settings) as store:
        require_store(process.mgmt, settings, store_owner(settings, home, store))

        def take_over() -> None:
            registries[:] = [MgmtRegistry(process.mgmt, keeper.lease, given_up)]
            store.own(registries[0], listed_cells)

        def give_up() -> None:
            given_up.set()
            store.give_up()

        say("index stands by")
        if not await StandBy(keeper, take_over, status_writer(home, keeper)).run(stop, give_up):
            return
        say(f"index runs from seq {store.last_seq}")
        with _reading(process) as (reading, nodes):
            part = ClusterPart(give_up, lambda: registries[0].waits_for or store.waits_for)
            resources = make_resources(process, keeper, store, reading, nodes, part)
            _force_due(process, store, resources)
            with care_of_size(home, settings):
                await _service(resources).run(stop)


def _service(resources: IndexResources) -> IndexService:
    from weft.index.service import IndexService

    return IndexService(resources)


def _reading(process: IndexProcess) -> AbstractContextManager[tuple[FetchReading, RecordNodes]]:
    from weft.index.crawl_reading import crawl_reading

    settings = process.settings
    archive = process.home.path / settings.spider.warc_dir
    return crawl_reading(settings, rules_of(settings), archive, process.workers)


def _force_due(process: IndexProcess, store: Store, resources: IndexResources) -> None:
    from weft.clock import SystemClock
    from weft.dispatcher.force_due import force_due

    if process.again is not None:
        now = SystemClock().now()
        due_before = now - int(process.again * 1000)
        force_due(store, resources.dispatcher.low_water, fetched_before=due_before, now=now)


def make_keeper(process: IndexProcess, *, is_sole: bool) -> LeaseKeeper:
    from weft import __version__
    from weft.mgmt.values import NodeType
    from weft.roles.index_ownership import index_address
    from weft.roles.lease import LeaseKeeper
    from weft.roles.this_node import about_this_node

    settings = process.settings
    about = about_this_node(settings, __version__, is_sole=is_sole)
    address = index_address(settings, process.home)
    return LeaseKeeper(process.control, NodeType.INDEX_BUILDER, address, settings.mgmt, about=about)


def status_writer(home: Home, keeper: LeaseKeeper) -> Callable[[dict[str, Any]], None]:
    """For the file in the home, which names the node that it is of."""
    from weft.roles.status_file import write_status

    return lambda facts: write_status(home.path, "index", {"address": keeper.address, **facts})


def upkeep(settings: Settings, home: Home) -> AbstractContextManager[object]:
    """Of a control plane that is a file in the home."""
    from weft.mgmt.open import is_embedded
    from weft.roles.mgmt_upkeep import MgmtUpkeep

    return MgmtUpkeep(home, settings.spider.min_free) if is_embedded(settings) else nullcontext()


def care_of_size(home: Home, settings: Settings) -> AbstractContextManager[object]:
    """Of the home's archive, and of what `weft status` tells of all its parts."""
    from weft.answers.growth import home_sizes, note_sizes
    from weft.roles.home_upkeep import HomeUpkeep

    archive = home.path / settings.spider.warc_dir
    return HomeUpkeep(home, settings, lambda: note_sizes(home.path, home_sizes(home.path, archive)))


def make_resources(
    process: IndexProcess,
    keeper: LeaseKeeper,
    store: Store,
    reading: FetchReading,
    nodes: RecordNodes | None = None,
    cluster: ClusterPart | None = None,
) -> IndexResources:
    from weft.clock import MonotonicClock, SystemClock
    from weft.config import fetch_conditions
    from weft.dispatcher.dispatcher import Dispatcher
    from weft.index.builder import Builder
    from weft.index.handlers import load_handlers
    from weft.index.parking import Parking
    from weft.index.service import IndexResources
    from weft.linkindex.pipeline import LinkIndex

    settings, clock = process.settings, SystemClock()
    index, parking = LinkIndex(store, settings.index), Parking(nodes, settings.index.archive_patience)
    return IndexResources(
        control=process.control,
        keeper=keeper,
        builder=Builder(store, index, reading, settings.dispatcher, clock, load_handlers(), parking=parking),
        dispatcher=Dispatcher(store, process.mgmt, settings.dispatcher, clock, fetch_conditions(settings)),
        settings=settings.dispatcher,
        clock=MonotonicClock(),
        write_status=status_writer(process.home, keeper),
        cluster=cluster,
    )
