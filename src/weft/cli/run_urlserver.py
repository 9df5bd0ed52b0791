"""`weft run urlserver`: a URL server, wired from the settings."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from weft.cli.invocation import Invocation, command, rules_of
from weft.cli.metrics_flag import metrics_access, metrics_option, serving_metrics
from weft.cli.output import say

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Sequence

    from weft.config import Settings
    from weft.metrics.endpoint import MetricsAccess
    from weft.mgmt.api import UrlServerCalls
    from weft.model.site import Site
    from weft.model.url import PageUrl
    from weft.roles.calls import ControlPlane
    from weft.roles.stop import StopRequest
    from weft.urlserver.lease_session import UrlServerResources
    from weft.urlserver.mgmt_gateway import Clocks, RobotsPolicy
    from weft.urlserver.robots_sitemaps import SitemapPriority, Sitemaps

STATUS = "urlserver"


class TlsContexts(NamedTuple):
    """None: in the clear."""

    listening: ssl.SSLContext | None
    dialling: ssl.SSLContext | None


class Access(NamedTuple):
    """Where it is asked, and how it talks to others."""

    listener: socket.socket
    tls: TlsContexts
    metrics: MetricsAccess | None


@command("urlserver")
@metrics_option
@click.pass_obj
def run(invocation: Invocation, metrics: str | None) -> None:
    """Claim links, queue them per host, and send each to a spider when its host and address allow a request.

    Prints one line when it is registered.
    """
    from weft.config import host_and_port
    from weft.mgmt.open import open_mgmt
    from weft.roles.identity import require_identity
    from weft.roles.listener import open_listener
    from weft.roles.log_output import begin_logging
    from weft.roles.open_files import require_files
    from weft.roles.run_token import with_run_token
    from weft.roles.status_file import forget_status
    from weft.roles.stop import run_role
    from weft.roles.supervisor_pipe import has_supervisor

    home = invocation.home_to_write()
    settings = with_run_token(invocation.load().settings, home.path)
    begin_logging()
    require_files(settings.urlserver.dns_concurrent, "urlserver.dns_concurrent")
    # The loop must not wait for the thread that talks to the control plane: a host asked late is a host kept idle.
    sys.setswitchinterval(0.0005)
    address = host_and_port(settings.urlserver.listen)
    tls, is_reserved = checked_tls(settings, address), has_supervisor(os.environ)
    with (
        open_listener("urlserver.listen", *address, settings.spider.token, is_reserved=is_reserved) as listener,
        metrics_access(settings, metrics) as told,
    ):
        mgmt = open_mgmt(settings, home)
        try:
            require_identity(mgmt, settings)
            access = Access(listener, tls, told)
            run_role(lambda stop: _run(settings, mgmt, access, home.path, stop))
        finally:
            forget_status(home.path, STATUS)
            mgmt.close()


async def _run(settings: Settings, mgmt: UrlServerCalls, access: Access, home: Path, stop: StopRequest) -> None:
    import msgspec

    from weft.addresses.resolver import Resolver
    from weft.clock import MonotonicClock, SystemClock
    from weft.roles.calls import ControlPlane
    from weft.roles.status_file import write_status
    from weft.urlserver.mgmt_gateway import Clocks
    from weft.urlserver.service import UrlServer
    from weft.urlserver.view.questions import serve_questions

    clocks, control, address = Clocks(SystemClock(), MonotonicClock()), ControlPlane(mgmt), node_address(settings)
    async with Resolver(settings.urlserver, clocks.wall) as resolver:
        resources = make_resources(settings, control, clocks, access.tls.dialling)
        server = UrlServer(
            resources,
            resolver,
            lambda seen: write_status(home, STATUS, {"address": address, **msgspec.to_builtins(seen)}),
        )
        answering = await serve_questions(access.listener, settings.spider.token, server, access.tls.listening)
        try:
            async with serving_metrics(access.metrics, resources.keeper):
                await server.run(stop, lambda: say(f"URL server {address} is registered"))
        finally:
            answering.close()
            control.close()


def node_address(settings: Settings) -> str:
    """Where others reach this URL server."""
    return settings.urlserver.address or settings.urlserver.listen


def checked_tls(settings: Settings, listen: tuple[str, int]) -> TlsContexts:
    """For its own port and its spiders, before anything listens; raises UsageError if others could not reach it."""
    from weft.config import host_and_port, spiders
    from weft.mgmt.open import is_embedded
    from weft.roles.listener import require_reachable
    from weft.roles.own_certificate import warn_of_certificate
    from weft.roles.tls import client_context, server_context, uses_tls

    if not is_embedded(settings):
        require_reachable("urlserver", listen, settings.urlserver.address)
    listening = server_context(settings, listen[0])
    warn_of_certificate(settings, listening, host_and_port(node_address(settings))[0])
    hosts = [host for host, _ in spiders(settings.urlserver.spider_host, settings.urlserver.spider_port)]
    is_dialling = any(uses_tls(settings, host) for host in hosts)
    return TlsContexts(listening, client_context(settings) if is_dialling else None)


def make_resources(
    settings: Settings,
    control: ControlPlane[UrlServerCalls],
    clocks: Clocks,
    tls: ssl.SSLContext | None = None,
) -> UrlServerResources:
    from weft import __version__
    from weft.mgmt.values import NodeType
    from weft.roles.lease import LeaseKeeper
    from weft.roles.this_node import about_this_node
    from weft.urlserver.address_policy import AddressPolicy
    from weft.urlserver.lease_session import UrlServerResources
    from weft.urlserver.mgmt_gateway import MgmtGateway

    about = about_this_node(settings, __version__)
    keeper = LeaseKeeper(control, NodeType.CRAWLER, node_address(settings), settings.mgmt, clocks.monotonic, about)
    sitemaps = sitemaps_in_scope(settings, control.mgmt)
    gateway = MgmtGateway(control.mgmt, clocks, robots_policy(settings), AddressPolicy(settings.urlserver), sitemaps)
    return UrlServerResources(settings, control, keeper, gateway, clocks, tls)


def robots_policy(settings: Settings) -> RobotsPolicy:
    from weft import __version__
    from weft.config import fetch_conditions, user_agent
    from weft.urlserver.mgmt_gateway import RobotsPolicy

    token = user_agent(settings.spider, __version__).partition("/")[0].partition(" ")[0]
    return RobotsPolicy(
        token,
        settings.limits.robots_bytes,
        round(settings.urlserver.crawl_delay_max * 1000),
        fetch_conditions=fetch_conditions(settings),
    )


def sitemaps_in_scope(settings: Settings, mgmt: UrlServerCalls) -> Sitemaps:
    from weft.dispatcher.scope import Scope
    from weft.urlserver.robots_sitemaps import Sitemaps

    def priority_by(sites: Sequence[Site]) -> SitemapPriority:
        scope = Scope(sites, settings.dispatcher)

        def priority(page: PageUrl) -> int | None:
            site, refusal = scope.judge(page, depth=0)
            return None if site is None or refusal else site.settings.priority or 0

        return priority

    return Sitemaps(mgmt, rules_of(settings), settings.limits.robots_bytes, priority_by)
