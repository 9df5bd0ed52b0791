"""`weft demo serve`, `weft demo judge` and `weft demo truth`: the synthetic web."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.invocation import Invocation, NumberRange, as_json, command, rules_of
from weft.cli.output import say, say_json, say_lines
from weft.cli.tables import aligned, amount
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.demo.web.definition.plan import WebPlan
    from weft.demo.web.definition.world import World
    from weft.demo.web.judge.judge import Report
    from weft.demo.web.judge.limits import Limits
    from weft.demo.web.server.server import WebServer

A_FILE = click.Path(path_type=Path, dir_okay=False)


def plan_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that define the web."""
    for option in reversed(
        [
            click.option("--seed", default=1, help="Number that determines the web."),
            click.option("--hosts", default=50, help="Number of hosts."),
            click.option("--pages", default=20, help="Average number of HTML pages per host."),
            click.option(
                "--addresses", default=5, help="Number of addresses, from 127.0.0.1 up, that the hosts share."
            ),
            click.option("--port", default=0, help="Port on every address; 0 picks a free one."),
            click.option("--tls", is_flag=True, help="Serve some hosts over https (needs the package cryptography)."),
            click.option("--tls-port", default=0, help="Port for https; 0 picks a free one."),
            click.option(
                "--profile", default="plain", help="Which behaviours occur: plain, finite, all or another profile."
            ),
            click.option(
                "--share",
                "shares",
                multiple=True,
                metavar="NAME=VALUE",
                help="Change how often a behaviour of the profile occurs.",
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
@click.option("--log", type=A_FILE, help="Log every request to this new file, for `weft demo judge`.")
@click.option("--write-settings", type=A_FILE, metavar="FILE", help="Write the settings that a crawl needs to FILE.")
@click.option("--seconds", type=NumberRange(min=0), help="Stop after this many seconds.")
def serve(log: Path | None, write_settings: Path | None, seconds: float | None, **plan: Any) -> None:
    """Serve a synthetic web on loopback until Ctrl-C. The same --seed always gives the same hosts, pages and links.

    Prints the settings (TOML) that weft needs to crawl it, or writes them to a file.
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
        say_lines(text.split("\n"))
    else:
        write_settings(text, settings_file)
        say(f"Settings for weft: {settings_file}", err=True)
    if log:
        say(f"Request log: {log}", err=True)
    say(f"Control calls: http://127.0.0.1:{server.control_port}/", err=True)
    say(f"Serving {world.plan.hosts} hosts, starting with {world.url(0)}. Ctrl-C stops.", err=True)


@command("judge")
@click.argument("log", type=A_FILE, metavar="LOG")
@click.option("--allowed-refetches", default=0, help="Number of repeated requests that are tolerated.")
@click.option("--refetch-after", type=float, metavar="SECONDS", help="After this long a page may be requested again.")
@click.option("--robots-age", default=86_400.0, metavar="SECONDS", help="How long a robots.txt may be cached.")
@click.option("--tolerance", default=0.005, metavar="SECONDS", help="Measuring error to allow for.")
@click.option(
    "--reaction",
    default=1.0,
    metavar="SECONDS",
    help="Time allowed to react to a Retry-After when requests run in parallel.",
)
@click.option("--scope", multiple=True, metavar="NAME", help="Host, or .DOMAIN, that may be crawled (default: all).")
@click.option("--any-agent", is_flag=True, help="Accept any User-Agent, not only the configured one.")
@as_json
@click.pass_context
def judge(context: click.Context, /, log: Path, as_json: bool, **given: Any) -> None:
    """Read the request log of a synthetic web and report every impolite request.

    The limits for hosts and addresses are the settings in `[urlserver]`; choose them with --home and --set.
    """
    import msgspec

    from weft.demo.web.judge.judge import judge as judged

    report = judged(log, _limits(context.ensure_object(Invocation), given))
    if as_json:
        answer = {**msgspec.to_builtins(report, str_keys=True), "violations": report.violations}
        say_json(msgspec.json.encode(answer))
    else:
        say_lines(_drawn(report))
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
    found = amount(report.violations, "violation") if report.violations else "No violations"
    yield f"{found} in {amount(report.requests, 'request')} to {amount(report.hosts, 'host')} in {report.seconds} s"


@command("truth")
@plan_options
@click.option(
    "--of", "log", type=A_FILE, metavar="LOG", help="Use the web of this log, with its control calls, instead."
)
@click.option(
    "--start", "starts", multiple=True, metavar="URL", help="Where the crawl starts (default: the first host)."
)
@click.option("--scope", multiple=True, metavar="NAME", help="Stay on this host, or on .DOMAIN (default: any).")
@click.option("--max-depth", type=click.IntRange(min=0), help="Most hops from the start.")
@click.option("--sitemaps", is_flag=True, help="Follow the sitemaps that robots.txt names.")
@click.option("--limit", default=100_000, type=click.IntRange(min=0), help="Most URLs to print.")
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
    """Print what a polite crawler must find in a synthetic web, as JSON lines.

    First one line for every URL that the crawl reaches, then one for every uri known at the end. The exit code is 1
    if --limit cut the list.
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
        say_json(msgspec.json.encode(page))
    for uri in told.uris():
        say_json(msgspec.json.encode(uri))
    context.exit(0 if told.is_whole else 1)


def _world(log: Path | None, plan: dict[str, Any]) -> World:
    from weft.demo.web.definition.world import make_world
    from weft.demo.web.log import world_of

    if log is not None:
        return world_of(log)
    if not plan["port"] or (plan["tls"] and not plan["tls_port"]):
        raise UsageError("give --port (with --tls also --tls-port), because it is part of every URL, or --of LOG")
    return make_world(_plan(**plan))
