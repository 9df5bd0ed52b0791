"""`weft run index`: wires the index process, the one writer of the store."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing, nullcontext
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command, rules_of
from weft.cli.metrics_flag import metrics_access, metrics_option, serving_metrics
from weft.cli.output import say

if TYPE_CHECKING:
    from pathlib import Path

    from weft.clock import Clock
    from weft.config import Settings
    from weft.home import Home
    from weft.index.reading_lanes import FetchReading
    from weft.index.record_nodes import RecordNodes
    from weft.index.service import IndexResources
    from weft.metrics.endpoint import MetricsAccess
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import StoreOwner
    from weft.roles.stop import StopRequest
    from weft.store.api import Store


@command("index")
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Number of parsing processes (default: one fewer than processors)."
)
@click.option(
    "--again",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Refetch pages that were fetched more than S seconds ago.",
)
@metrics_option
@click.pass_obj
def run(invocation: Invocation, workers: int | None, again: float | None, metrics: str | None) -> None:
    """Load crawled pages into the index, and choose what to crawl next."""
    from weft.clock import SystemClock
    from weft.dispatcher.force_due import force_due
    from weft.index.crawl_reading import crawl_reading
    from weft.mgmt.open import open_mgmt
    from weft.roles.identity import require_identity
    from weft.roles.log_output import begin_logging
    from weft.roles.memory_return import return_memory
    from weft.roles.run_token import with_run_token
    from weft.roles.stop import run_role

    settings, home = invocation.load().settings, invocation.home_to_write()
    begin_logging()
    return_memory()
    clock, archive = SystemClock(), home.path / settings.spider.warc_dir
    own = with_run_token(settings, home.path)
    with (
        metrics_access(own, metrics) as told,
        closing(open_mgmt(settings, home)) as mgmt,
        invocation.writer() as store,
        upkeep(settings, home),
        crawl_reading(own, rules_of(settings), archive, workers) as (reading, nodes),
    ):
        require_identity(mgmt, settings)
        require_this_store(mgmt, settings, home)
        resources = make_resources(settings, mgmt, store, reading, clock, home.path, nodes)
        if again is not None:
            due_before = clock.now() - int(again * 1000)
            force_due(store, resources.dispatcher.low_water, fetched_before=due_before, now=clock.now())
        say("index runs")
        run_role(lambda stop: _run(resources, told, stop))
        resources.control.close()


async def _run(resources: IndexResources, metrics: MetricsAccess | None, stop: StopRequest) -> None:
    from weft.index.service import IndexService

    async with serving_metrics(metrics, resources.keeper):
        await IndexService(resources).run(stop)


def require_this_store(mgmt: Mgmt, settings: Settings, home: Home) -> None:
    from weft.roles.identity import require_store

    require_store(mgmt, settings, store_owner(settings, home))


def store_owner(settings: Settings, home: Home) -> StoreOwner:
    from weft.mgmt.values import StoreOwner
    from weft.roles.this_node import machine_name
    from weft.store.directory import store_id

    return StoreOwner(store_id(home.store), f"{machine_name(settings)}:{home.path.resolve()}")


def index_address(settings: Settings, home: Path) -> str:
    """The name of the index process of a home among all nodes."""
    from weft.roles.this_node import machine_name

    # The control plane keeps at most 255 characters; of a long path the end tells more.
    return f"index@{machine_name(settings)}:{str(home.resolve())[-180:]}"


def upkeep(settings: Settings, home: Home) -> AbstractContextManager[object]:
    """Of a control plane that is a file in the home."""
    from weft.mgmt.open import is_embedded
    from weft.roles.mgmt_upkeep import MgmtUpkeep

    return MgmtUpkeep(home, settings.spider.min_free) if is_embedded(settings) else nullcontext()


def make_resources(
    settings: Settings,
    mgmt: Mgmt,
    store: Store,
    reading: FetchReading,
    clock: Clock,
    home: Path,
    nodes: RecordNodes | None = None,
) -> IndexResources:
    from functools import partial

    from weft import __version__
    from weft.clock import MonotonicClock
    from weft.config import fetch_conditions
    from weft.dispatcher.dispatcher import Dispatcher
    from weft.index.builder import Builder
    from weft.index.handlers import load_handlers
    from weft.index.parking import Parking
    from weft.index.service import IndexResources
    from weft.linkindex.pipeline import LinkIndex
    from weft.mgmt.values import NodeType
    from weft.roles.calls import ControlPlane
    from weft.roles.lease import LeaseKeeper
    from weft.roles.status_file import write_status
    from weft.roles.this_node import about_this_node

    control, index = ControlPlane(mgmt), LinkIndex(store, settings.index)
    parking = Parking(nodes, settings.index.archive_patience)
    about = about_this_node(settings, __version__, is_sole=True)
    return IndexResources(
        control=control,
        keeper=LeaseKeeper(control, NodeType.INDEX_BUILDER, index_address(settings, home), settings.mgmt, about=about),
        builder=Builder(store, index, reading, settings.dispatcher, clock, load_handlers(), parking=parking),
        dispatcher=Dispatcher(store, mgmt, settings.dispatcher, clock, fetch_conditions(settings)),
        settings=settings.dispatcher,
        clock=MonotonicClock(),
        write_status=partial(write_status, home, "index"),
    )
