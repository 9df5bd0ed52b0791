"""`weft run indexserver`: an index server, wired from the settings."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from weft.cli.invocation import Invocation, command
from weft.cli.metrics_flag import metrics_access, metrics_option, serving_metrics
from weft.cli.output import say

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from weft.config import Settings
    from weft.home import Home
    from weft.metrics.endpoint import MetricsAccess
    from weft.mgmt.api import IndexServerCalls
    from weft.roles.stop import StopRequest
    from weft.search.serving import Access
    from weft.search.shard_upkeep import ShardUpkeep
    from weft.store.api import Reader


@command("indexserver")
@click.option(
    "--row", type=click.IntRange(1, 1000), default=1, help="Replica of the search index that this server is of."
)
@metrics_option
@click.pass_obj
def run(invocation: Invocation, row: int, metrics: str | None) -> None:
    """Keep shards of the search index up to date, and answer searches in them.

    Prints its address when it is ready.
    """
    from contextlib import closing
    from functools import partial

    from weft.answers.search_servers import STATUS
    from weft.config import host_and_port
    from weft.mgmt.open import open_mgmt
    from weft.roles.identity import require_identity
    from weft.roles.listener import open_listener
    from weft.roles.log_output import begin_logging
    from weft.roles.memory_return import return_memory
    from weft.roles.run_token import with_run_token
    from weft.roles.status_file import forget_status, write_status
    from weft.roles.stop import run_role
    from weft.roles.supervisor_pipe import has_supervisor
    from weft.search.serving import Access
    from weft.store.open import open_reader

    home = invocation.home_to_write()
    settings = with_run_token(invocation.load().settings, home.path)
    begin_logging()
    return_memory()
    # Whoever searches must not wait for the thread that writes: it has the interpreter for as long as this otherwise.
    sys.setswitchinterval(0.0005)
    address = host_and_port(settings.indexserver.listen)
    tls, is_reserved = checked_tls(settings, address), has_supervisor(os.environ)
    # There is one of a run; others have their port in the name.
    status = STATUS if is_reserved else f"{STATUS}-{address[1]}"
    with (
        open_listener("indexserver.listen", *address, settings.spider.token, is_reserved=is_reserved) as listener,
        closing(open_mgmt(settings, home)) as mgmt,
        open_reader(home.store, settings) as reader,
        metrics_access(settings, metrics) as told,
    ):
        require_identity(mgmt, settings)
        access = Access(listener, settings.spider.token, tls)
        tell = partial(write_status, home.path, status)
        try:
            run_role(
                lambda stop: _run(settings, make_upkeep(settings, home, row, reader), mgmt, access, told, tell, stop)
            )
        finally:
            if not is_reserved:
                forget_status(home.path, status)


def checked_tls(settings: Settings, listen: tuple[str, int]) -> ssl.SSLContext | None:
    """What to listen with, before anything listens; raises UsageError if others could not reach or read it."""
    from weft.config import host_and_port
    from weft.mgmt.open import is_embedded
    from weft.roles.listener import require_reachable
    from weft.roles.own_certificate import warn_of_certificate
    from weft.roles.tls import server_context

    address = settings.indexserver.address
    if not is_embedded(settings):
        require_reachable("indexserver", listen, address)
    tls = server_context(settings, listen[0])
    warn_of_certificate(settings, tls, host_and_port(address)[0] if address else listen[0])
    return tls


def make_upkeep(settings: Settings, home: Home, row: int, reader: Reader) -> ShardUpkeep:
    from weft.clock import MonotonicClock, SystemClock
    from weft.search.indexer import Indexer
    from weft.search.served_shards import ServedShards
    from weft.search.shard_upkeep import ShardUpkeep
    from weft.store.timeline import source_of

    own = settings.indexserver
    indexer = Indexer(reader, home.search_row(row), source_of(reader), own, SystemClock())
    return ShardUpkeep(indexer, ServedShards(indexer.directory), row, own.shards, MonotonicClock())


async def _run(
    settings: Settings,
    upkeep: ShardUpkeep,
    mgmt: IndexServerCalls,
    access: Access,
    metrics: MetricsAccess | None,
    tell: Callable[[dict[str, Any]], None],
    stop: StopRequest,
) -> None:
    from weft import __version__
    from weft.mgmt.values import NodeType
    from weft.roles.calls import ControlPlane
    from weft.roles.lease import LeaseKeeper
    from weft.roles.listener import address_of
    from weft.roles.this_node import about_this_node
    from weft.search.service import IndexServer, ServerResources
    from weft.search.serving import serve

    own, listens_at, control = settings.indexserver, address_of(access.listener), ControlPlane(mgmt)
    address, about = own.address or listens_at, about_this_node(settings, __version__)
    row = upkeep.figures.row
    keeper = LeaseKeeper(control, NodeType.INDEX_SERVER, address, settings.mgmt, about=about, row=row)
    server = IndexServer(ServerResources(control, keeper, upkeep, own.commit_every, tell))
    try:
        async with serving_metrics(metrics, keeper):
            await serve(server, access, stop, lambda: say(f"index server listens at {listens_at}"))
    finally:
        control.close()
