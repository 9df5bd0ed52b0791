"""`weft demo serve`, `weft demo judge` and `weft demo truth`: the synthetic web."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.tables import aligned
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.demo.web.definition.plan import WebPlan
    from weft.demo.web.definition.world import World
    from weft.demo.web.judge.judge import Report
    from weft.demo.web.judge.limits import Limits
    from weft.demo.web.server.server import WebServer

A_FILE = click.Path(path_type=Path, dir_okay=False)


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that tell which web."""
    for option in reversed(
        [
            click.option("--seed", default=1, help="Another seed is another web."),
            click.option("--hosts", default=50, help="How many hosts."),
            click.option("--pages", default=20, help="HTML pages of a host, on average."),
            click.option("--addresses", default=5, help="Addresses from 127.0.0.1 up that the hosts share."),
            click.option("--port", default=0, help="Port on every address; 0 takes a free one."),
            click.option("--tls", is_flag=True, help="Make some hosts secure (needs the package cryptography)."),
            click.option("--tls-port", default=0, help="Port for TLS; 0 takes a free one."),
            click.option("--profile", default="plain", help="Which behaviours occur: plain, finite, all and others."),
            click.option(
                "--share", "shares", multiple=True, metavar="NAME=VALUE", help="Change a share of the profile."
            ),
        ]
    ):
        function = option(function)
    return function


def _plan(profile: str, shares: tuple[str, ...], **numbers: Any) -> WebPlan:
    from weft.demo.web.definition.plan import WebPlan
    from weft.demo.web.definition.profile import profile_with

    return WebPlan(profile=profile_with(profile, shares), **numbers)


@command("serve")
@plan_options
@click.option("--log", type=A_FILE, help="Write a line for every request to this new file, for the judge.")
@click.option("--write-settings", type=A_FILE, metavar="FILE", help="Write the settings that a crawl needs to FILE.")
@click.option("--seconds", type=click.FloatRange(min=0), help="Stop after so many seconds.")
def serve(log: Path | None, write_settings: Path | None, seconds: float | None, **plan: Any) -> None:
    """Serve a synthetic web on loopback until Ctrl-C: hosts, pages and links that a seed decides.

    Prints the settings (TOML) with which weft crawls it, or writes them to a file.
    """
    from weft.demo.web.server.running import serve as run

    def on_ready(server: WebServer) -> None:
        _tell_ready(server, log, write_settings)

    run(_plan(**plan), log, on_ready, seconds=seconds)


def _tell_ready(server: WebServer, log: Path | None, settings_file: Path | None) -> None:
    from weft.demo.web.settings_text import settings_text, write_settings

    world = server.world
    text = settings_text(world, server.ca_file)
    if settings_file is None:
        click.echo(text)
    else:
        write_settings(text, settings_file)
        click.echo(f"settings for weft in {settings_file}", err=True)
    if log:
        click.echo(f"every request is logged in {log}", err=True)
    click.echo(f"control calls at http://127.0.0.1:{server.control_port}/", err=True)
    click.echo(f"{world.plan.hosts} hosts, the first is {world.url(0)}; Ctrl-C stops", err=True)


@command("judge")
@click.argument("log", type=A_FILE, metavar="LOG")
@click.option("--allowed-refetches", default=0, help="Requests for pages that had been answered before.")
@click.option("--refetch-after", type=float, metavar="SECONDS", help="A page may be asked for again after this.")
@click.option("--robots-age", default=86_400.0, metavar="SECONDS", help="How long a robots.txt holds.")
@click.option("--tolerance", default=0.005, metavar="SECONDS", help="What measuring may be wrong by.")
@click.option("--reaction", default=1.0, metavar="SECONDS", help="Time to hear of a Retry-After, if several may run.")
@click.option("--scope", multiple=True, metavar="NAME", help="A host that may be asked, or .DOMAIN; else all.")
@click.option("--any-agent", is_flag=True, help="Take any User-Agent, not only the one of the settings.")
@as_json
@click.pass_context
def judge(context: click.Context, /, log: Path, as_json: bool, **given: Any) -> None:
    """Read the log of a synthetic web and tell which requests were rude, by the settings in force.

    The limits on hosts and addresses are those of `[urlserver]`; --home and --set choose them.
    """
    import msgspec

    from weft.demo.web.judge.judge import judge as judged

    report = judged(log, _limits(context.ensure_object(Invocation), given))
    if as_json:
        answer = {**msgspec.to_builtins(report, str_keys=True), "violations": report.violations}
        click.echo(msgspec.json.encode(answer).decode())
    else:
        for line in _drawn(report):
            click.echo(line)
    context.exit(1 if report.violations else 0)


def _limits(invocation: Invocation, given: dict[str, Any]) -> Limits:
    from weft import __version__
    from weft.config import user_agent
    from weft.demo.web.judge.limits import Limits

    settings = invocation.load().settings
    politeness, any_agent = settings.urlserver, given.pop("any_agent")
    refetch_after = given.pop("refetch_after")
    return Limits(
        host_concurrent=politeness.req_host_concurrent,
        host_per_sec=politeness.req_host_per_sec,
        ip_concurrent=politeness.req_ip_concurrent,
        ip_per_sec=politeness.req_ip_per_sec,
        crawl_delay_max=politeness.crawl_delay_max,
        user_agent=None if any_agent else user_agent(settings.spider, __version__),
        refetch_after=float("inf") if refetch_after is None else refetch_after,
        scope=frozenset(given.pop("scope")),
        **given,
    )


def _drawn(report: Report) -> Iterator[str]:
    rows = [(rule.rule, str(rule.count), str(rule.allowed)) for rule in report.rules]
    yield from aligned(("rule", "requests", "allowed"), rows)
    for rule in report.rules:
        for example in rule.examples if rule.is_broken else ():
            yield f"{rule.rule}: {example}"
    said = f"{report.violations} violations" if report.violations else "no violations"
    yield f"{said} in {report.requests} requests to {report.hosts} hosts in {report.seconds} s"


@command("truth")
@plan_options
@click.option("--of", "log", type=A_FILE, metavar="LOG", help="The web of this log, with its control calls, instead.")
@click.option("--start", "starts", multiple=True, metavar="URL", help="Where a crawl begins; else at the first host.")
@click.option("--scope", multiple=True, metavar="NAME", help="Stay on this host, or on .DOMAIN; else anywhere.")
@click.option("--max-depth", type=click.IntRange(min=0), help="Links from the start at most.")
@click.option("--sitemaps", is_flag=True, help="Follow the sitemaps that robots.txt names.")
@click.option("--limit", default=100_000, type=click.IntRange(min=0), help="URLs to tell at most.")
@click.pass_context
def truth(
    context: click.Context,
    /,
    log: Path | None,
    starts: tuple[str, ...],
    scope: tuple[str, ...],
    limit: int,
    **given: Any,
) -> None:
    """Tell what a polite crawler must find in a synthetic web, as JSON lines.

    First a line for every URL that the crawl comes to, then one for every uri that is known at its end. Exit code 1:
    the limit came first.
    """
    import msgspec

    from weft.demo.web.judge.limits import Limits
    from weft.demo.web.truth import Truth

    settings = context.ensure_object(Invocation).load().settings
    choice = {name: given.pop(name) for name in ("max_depth", "sitemaps")}
    world = _world(log, given)
    told = Truth(
        world,
        rules_of(settings),
        in_scope=Limits(scope=frozenset(scope)).is_in_scope,
        crawl_delay_max=settings.urlserver.crawl_delay_max,
        **choice,
    )
    for page in told.walk(starts or [world.url(0)], limit):
        click.echo(msgspec.json.encode(page))
    for uri in told.uris():
        click.echo(msgspec.json.encode(uri))
    context.exit(0 if told.is_whole else 1)


def _world(log: Path | None, plan: dict[str, Any]) -> World:
    from weft.demo.web.definition.world import make_world
    from weft.demo.web.log import world_of

    if log is not None:
        return world_of(log)
    if not plan["port"] or (plan["tls"] and not plan["tls_port"]):
        raise UsageError("the port is part of every URL; expected --port (with --tls also --tls-port), or --of LOG")
    return make_world(_plan(**plan))
