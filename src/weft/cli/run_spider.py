"""`weft run spider`: a spider, wired from the settings."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command
from weft.cli.metrics_flag import metrics_access, metrics_option, serving_metrics
from weft.cli.output import say

if TYPE_CHECKING:
    import socket
    import ssl

    from weft.config import Settings
    from weft.metrics.endpoint import MetricsAccess
    from weft.mgmt.api import SpiderCalls
    from weft.roles.stop import StopRequest
    from weft.spider.fetching import Fetcher
    from weft.spider.service import SpiderOptions, SpiderResources
    from weft.spider.serving import Access, OpenFiles

log = logging.getLogger(__name__)

MIB = 1 << 20
_FILES_KEPT = 16
_DAY = 86_400


@command("spider")
@metrics_option
@click.pass_obj
def run(invocation: Invocation, metrics: str | None) -> None:
    """Accept URLs from URL servers, fetch and archive them, and report the results.

    Prints its address when it is ready.
    """
    from weft.config import host_and_port
    from weft.mgmt.open import open_mgmt
    from weft.roles.identity import require_identity
    from weft.roles.listener import open_listener
    from weft.roles.log_output import begin_logging
    from weft.roles.run_token import with_run_token
    from weft.roles.stop import run_role
    from weft.roles.supervisor_pipe import has_supervisor
    from weft.spider.serving import Access

    home = invocation.home_to_write()
    settings = with_run_token(invocation.load().settings, home.path)
    begin_logging()
    address = host_and_port(settings.spider.listen, settings.urlserver.spider_port)
    tls, is_reserved = checked_tls(settings, address), has_supervisor(os.environ)
    with (
        open_listener("spider.listen", *address, settings.spider.token, is_reserved=is_reserved) as listener,
        metrics_access(settings, metrics) as told,
    ):
        mgmt = open_mgmt(settings, home)
        try:
            require_identity(mgmt, settings)
            access = Access(settings.spider.token, home.path / settings.spider.warc_dir, tls)
            run_role(lambda stop: _run(settings, mgmt, listener, access, told, stop))
        finally:
            mgmt.close()


def checked_tls(settings: Settings, listen: tuple[str, int]) -> ssl.SSLContext | None:
    """What to listen with, before anything listens; raises UsageError if others could not reach or read it."""
    from weft.config import host_and_port
    from weft.mgmt.open import is_embedded
    from weft.roles.listener import require_reachable
    from weft.roles.own_certificate import warn_of_certificate
    from weft.roles.tls import server_context

    address = settings.spider.address
    if not is_embedded(settings):
        require_reachable("spider", listen, address)
    tls = server_context(settings, listen[0])
    warn_of_certificate(settings, tls, host_and_port(address)[0] if address else listen[0])
    return tls


async def _run(
    settings: Settings,
    mgmt: SpiderCalls,
    listener: socket.socket,
    access: Access,
    metrics: MetricsAccess | None,
    stop: StopRequest,
) -> None:
    import asyncio

    from weft.archive.crash_recovery import recover
    from weft.roles.listener import address_of
    from weft.spider.service import Spider
    from weft.spider.serving import serve

    listens_at, archive = address_of(listener), access.archive
    node = settings.spider.address or listens_at
    concurrent, connections = open_files(settings)
    resources = make_resources(settings, archive, mgmt, node, make_fetcher(settings, archive, connections))
    for found in await asyncio.to_thread(recover, archive):
        log.info("archive recovered file=%s records=%d cut=%d", *found)
    spider = Spider(resources, make_options(settings, node, concurrent))
    async with serving_metrics(metrics, resources.keeper):
        await serve(spider, listener, access, stop, lambda: say(f"spider listens at {listens_at}"))
    resources.control.close()


def make_fetcher(settings: Settings, spool: Path, connections: int) -> Fetcher:
    """Large bodies wait in `spool`, in files without a name."""
    from weft.addresses.address_rules import AddressRules
    from weft.spider.curl_fetcher import CurlFetcher, system_certificates
    from weft.spider.curl_transfer import CurlOptions
    from weft.spider.fetching import FetchLimits

    limits = settings.limits
    options = CurlOptions(
        FetchLimits(limits.header_bytes, limits.connect_seconds, limits.total_seconds, limits.idle_seconds),
        AddressRules(settings.urlserver.allow_net),
        settings.spider.ca_file or system_certificates(),
        spool,
    )
    return CurlFetcher(options, connections)


def make_resources(
    settings: Settings, archive: Path, mgmt: SpiderCalls, node: str, fetcher: Fetcher
) -> SpiderResources:
    from weft import __version__
    from weft.archive.archive_writer import ArchiveOptions, ArchiveWriter
    from weft.archive.body_decoding import DecodeLimits
    from weft.config import user_agent
    from weft.mgmt.values import NodeType
    from weft.roles.calls import ControlPlane
    from weft.roles.lease import LeaseKeeper
    from weft.roles.this_node import about_this_node
    from weft.spider.request_builder import RequestBuilder
    from weft.spider.response_reader import ResponseReader
    from weft.spider.service import SpiderResources

    spider, limits = settings.spider, settings.limits
    agent, control = user_agent(spider, __version__), ControlPlane(mgmt)
    decoding = DecodeLimits(spider.max_body, limits.body_ratio)
    archived = ArchiveOptions(rolled_bytes(settings), _DAY if settings.archive.is_bounded else 0, user_agent=agent)
    return SpiderResources(
        fetcher=fetcher,
        requests=RequestBuilder(agent, spider.max_body, limits.robots_bytes),
        reader=ResponseReader(decoding, limits.robots_bytes, spider.archive_credentials),
        archive=ArchiveWriter(archive, archived),
        control=control,
        keeper=LeaseKeeper(control, NodeType.SPIDER, node, settings.mgmt, about=about_this_node(settings, __version__)),
    )


def rolled_bytes(settings: Settings) -> int:
    """A file that is being written cannot be pruned: it must be small beside what may be kept."""
    most = settings.archive.keep_bytes // _FILES_KEPT
    return min(settings.spider.warc_bytes, max(MIB, most)) if most else settings.spider.warc_bytes


def open_files(settings: Settings) -> OpenFiles:
    """How many fetches at a time and how many kept connections; raises the limit of open files for them."""
    from weft.roles.open_files import OTHERS, raise_file_limit
    from weft.spider.serving import OpenFiles, share_open_files

    wanted = OpenFiles(settings.spider.concurrent, settings.spider.connections)
    return share_open_files(wanted, raise_file_limit(sum(wanted) + OTHERS))


def make_options(settings: Settings, node: str, concurrent: int) -> SpiderOptions:
    from weft.spider.service import SpiderOptions

    spider = settings.spider
    return SpiderOptions(
        node=node,
        concurrent=concurrent,
        unanswered=spider.unanswered,
        working_every=spider.working_every,
        sync_every=spider.sync_every,
        min_free=spider.min_free,
    )
