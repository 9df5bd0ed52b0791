"""`weft run urlserver`: the URL server's parts, put together from the settings."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command, rules_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from weft.clock import Clock
    from weft.config import Settings
    from weft.mgmt.api import Mgmt
    from weft.model.site import Site
    from weft.model.url import PageUrl
    from weft.urlserver.desk import RobotsPolicy
    from weft.urlserver.service import UrlServer
    from weft.urlserver.sitemaps import Judge, Sitemaps

log = logging.getLogger(__name__)

STATUS = "urlserver"


@command("urlserver")
@click.pass_obj
def run(invocation: Invocation) -> None:
    """Claim links, queue them per host, and send each to a spider when its host and address may be asked.

    Prints one line once it is registered.
    """
    import uvloop

    from weft.cli.roles import begin_logging
    from weft.mgmt.open import open_mgmt
    from weft.status_file import forget_status
    from weft.urlserver.asking import open_listener

    settings, home = invocation.load().settings, invocation.home.require()
    begin_logging()
    # The loop must not wait for the thread that talks to the control plane: a host asked late is a host kept idle.
    sys.setswitchinterval(0.0005)
    with open_listener(settings) as listener:
        mgmt = open_mgmt(settings, home)
        try:
            uvloop.run(_run(settings, mgmt, listener, home.path))
        finally:
            forget_status(home.path, STATUS)
            mgmt.close()


async def _run(settings: Settings, mgmt: Mgmt, listener: socket.socket, home: Path) -> None:
    import msgspec

    from weft.addresses.resolver import Resolver
    from weft.clock import SystemClock
    from weft.status_file import write_status
    from weft.urlserver.asking import serve_questions
    from weft.urlserver.control import Control
    from weft.urlserver.desk import Clocks, Desk
    from weft.urlserver.life import Means
    from weft.urlserver.placing import Placing
    from weft.urlserver.service import UrlServer
    from weft.urlserver.steady import SteadyClock

    clocks, control = Clocks(SystemClock(), SteadyClock()), Control()
    sitemaps = sitemaps_in_scope(settings, mgmt, clocks.wall)
    desk = Desk(mgmt, clocks, robots_policy(settings), Placing(settings.urlserver), sitemaps)
    async with Resolver(settings.urlserver, clocks.wall) as resolver:
        means = Means(settings, mgmt, control, desk, clocks)
        server = UrlServer(means, resolver, lambda seen: write_status(home, STATUS, msgspec.to_builtins(seen)))
        answering = await serve_questions(listener, settings.spider.token, server)
        try:
            await _until_stopped(server, settings.urlserver.listen)
        finally:
            answering.close()
            control.close()


def robots_policy(settings: Settings) -> RobotsPolicy:
    from weft import __version__
    from weft.config.agent import user_agent
    from weft.urlserver.desk import RobotsPolicy

    token = user_agent(settings.spider, __version__).partition("/")[0].partition(" ")[0]
    return RobotsPolicy(token, settings.limits.robots_bytes, round(settings.urlserver.crawl_delay_max * 1000))


def sitemaps_in_scope(settings: Settings, mgmt: Mgmt, clock: Clock) -> Sitemaps:
    from weft.dispatcher.scope import Scope
    from weft.urlserver.sitemaps import Sitemaps

    def judging(sites: Sequence[Site]) -> Judge:
        scope = Scope(sites, settings.dispatcher)

        def judge(page: PageUrl) -> int | None:
            site, refusal = scope.judge(page, depth=0)
            return None if site is None or refusal else site.settings.priority or 0

        return judge

    return Sitemaps(mgmt, rules_of(settings), settings.limits.robots_bytes, judging, clock)


async def _until_stopped(server: UrlServer, address: str) -> None:
    """SIGTERM or SIGINT drains; the second one stops at once."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    work = loop.create_task(server.run(stop, lambda: click.echo(f"URL server {address} is registered")))

    def on_signal() -> None:
        if stop.is_set():
            work.cancel()
        else:
            log.info("stopping: answers are waited for, the rest is given back; a second signal stops at once")
            stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
    try:
        await work
    except asyncio.CancelledError:
        log.warning("stopped at once; what was held is free when the lease ends")
