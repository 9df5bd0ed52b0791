"""`weft run spider`: the spider's parts, put together from the settings."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command

if TYPE_CHECKING:
    import socket

    from weft.config import Settings
    from weft.home import Home
    from weft.spider.control import Control
    from weft.spider.service import Parts, SpiderOptions

log = logging.getLogger(__name__)


@command("spider")
@click.pass_obj
def run(invocation: Invocation) -> None:
    """Listen for URL servers, fetch what they ask for, archive and report it.

    Prints one line with its address once it is ready.
    """
    import uvloop

    from weft.cli.roles import begin_logging
    from weft.spider.listening import open_socket

    settings, home = invocation.load().settings, invocation.home.require()
    begin_logging()
    host, port = listen_address(settings)
    with open_socket(host, port, settings.spider.token) as listener:
        uvloop.run(_run(settings, home, listener))


async def _run(settings: Settings, home: Home, listener: socket.socket) -> None:
    import asyncio

    from weft.archive.recovery import recover
    from weft.mgmt.open import open_mgmt
    from weft.spider.control import Control
    from weft.spider.listening import Listening, address_of, serve
    from weft.spider.service import Spider

    archive = home.path / settings.spider.warc_dir
    control = Control(lambda: open_mgmt(settings, home))
    await control.open()
    parts = make_parts(settings, archive, control)
    for found in await asyncio.to_thread(recover, archive):
        log.info("archive recovered file=%s records=%d cut=%d", *found)
    node = settings.spider.address or address_of(listener)
    spider = Spider(parts, make_options(settings, node))
    await control.register(node)
    place = Listening(settings.spider.token, archive)
    await serve(spider, control, listener, place, lambda: click.echo(f"spider listens at {address_of(listener)}"))


def listen_address(settings: Settings) -> tuple[str, int]:
    from weft.config.rules import host_and_port

    return host_and_port(settings.spider.listen, settings.urlserver.spider_port)


def make_parts(settings: Settings, archive: Path, control: Control) -> Parts:
    """What a spider works with, by the settings."""
    from weft import __version__
    from weft.addresses.rules import AddressRules
    from weft.archive.decode import DecodeLimits
    from weft.archive.writer import ArchiveOptions, ArchiveWriter
    from weft.config.agent import user_agent
    from weft.spider.fetcher import system_certificates
    from weft.spider.finding import Judge
    from weft.spider.request import Requests
    from weft.spider.service import Parts
    from weft.spider.transfer import FetchLimits, Means

    spider, limits = settings.spider, settings.limits
    agent = user_agent(spider, __version__)
    return Parts(
        means=Means(
            FetchLimits(limits.header_bytes, limits.connect_seconds, limits.total_seconds, limits.idle_seconds),
            AddressRules(settings.urlserver.allow_net).is_refused,
            spider.ca_file or system_certificates(),
            archive,
        ),
        requests=Requests(agent, spider.max_body, limits.robots_bytes),
        judge=Judge(DecodeLimits(spider.max_body, limits.body_ratio), limits.robots_bytes, spider.archive_credentials),
        archive=ArchiveWriter(archive, ArchiveOptions(roll_bytes=spider.warc_bytes, user_agent=agent)),
        control=control,
    )


def make_options(settings: Settings, node: str) -> SpiderOptions:
    """How much at a time; fewer connections are kept where this process may not open as many files."""
    from weft.spider.listening import raise_file_limit
    from weft.spider.service import SpiderOptions

    spider = settings.spider
    others = 256
    limit = raise_file_limit(spider.concurrent + spider.connections + others)
    concurrent = max(1, min(spider.concurrent, limit - others))
    if concurrent < spider.concurrent:
        log.warning("fewer fetches at a time: this process may open only %d files concurrent=%d", limit, concurrent)
    return SpiderOptions(
        node=node,
        concurrent=concurrent,
        unanswered=spider.unanswered,
        connections=max(1, min(spider.connections, limit - others - concurrent)),
        working_every=spider.working_every,
        sync_every=spider.sync_every,
        heartbeat=settings.mgmt.heartbeat,
        min_free=spider.min_free,
    )
