"""`weft crawl` and `weft up`: all roles on one machine, with a live view."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from weft.cli.add import add_seeds, local_option, scope_option, seed_adder
from weft.cli.control import control_plane
from weft.cli.crawl_facts import Goal
from weft.cli.invocation import Invocation, command, rules_of
from weft.cli.output import say, say_lines
from weft.cli.site_flags import flag_of, secret_headers, settings_of, site_flags
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import CrawlSummary
    from weft.cli.dashboard import CrawlView
    from weft.model.url import UrlRules
    from weft.process_lock import ProcessLock
    from weft.supervisor.role_process import RoleCommand

_LOOK_EVERY = 0.5


def _take_user_agent(context: click.Context, _: click.Parameter, value: str | None) -> None:
    from weft.config.text import quoted
    from weft.config.text_forms import USER_AGENT

    if value is None:
        return
    if not USER_AGENT.holds(value):
        raise UsageError(f"--user-agent: expected {USER_AGENT.words('')}, found {quoted(value)}")
    context.ensure_object(Invocation).sets.append(f"spider.user_agent={quoted(value)}")


@command("crawl")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--pages", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages.")
@click.option("--seconds", type=click.FloatRange(min=0.1), metavar="S", help="Stop after S seconds.")
@scope_option
@site_flags
@click.option(
    "--user-agent",
    metavar="TEXT",
    callback=_take_user_agent,
    expose_value=False,
    help="Ask as this in this run (spider.user_agent), also in robots.txt.",
)
@local_option
@click.option(
    "--again",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Recrawl pages that were fetched more than S seconds ago.",
)
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@click.option("--json", "as_json", is_flag=True, help="Print progress and summary as one JSON object per line.")
@click.pass_context
def crawl(
    context: click.Context,
    /,
    urls: tuple[str, ...],
    pages: int | None,
    seconds: float | None,
    scope: str | None,
    again: float | None,
    spiders: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Crawl from the given URLs until everything in scope is fetched.

    Run it again to resume. Ctrl-C finishes running fetches and stops; a second Ctrl-C stops at once.

    --depth, --include, --exclude, --types, --max-bytes, --rate and --header are stored as settings of the sites of
    these URLs and hold until they are changed: a later value replaces an earlier one, and `weft sites` lists them.
    A PATTERN is a regular expression that is searched for in the URL.
    """
    from weft.config import as_variables
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import role_commands

    invocation = context.ensure_object(Invocation)
    is_local = bool(flags.pop("is_local"))
    settings = _checked_flags(urls, scope, flags)
    with _claimed_home(invocation) as lock, ReservedPorts(spiders + 1) as ports:
        _prepare(invocation, urls, scope, settings, is_local=is_local)
        roles = role_commands(invocation.home.path.resolve(), as_variables(invocation.sets), ports.numbers, again)
        summary = _run(invocation, lock, roles, ports.numbers, Goal(pages, seconds), urls, as_json=as_json)
    context.exit(130 if summary.reason == "interrupted" else 0 if summary.is_complete else 1)


@command("up")
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@click.pass_obj
def up(invocation: Invocation, spiders: int) -> None:
    """Crawl continuously and refetch pages when they are due, until Ctrl-C."""
    from weft.config import as_variables
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import role_commands

    with _claimed_home(invocation) as lock, ReservedPorts(spiders + 1) as ports:
        _prepare(invocation)
        roles = role_commands(invocation.home.path.resolve(), as_variables(invocation.sets), ports.numbers)
        _run(invocation, lock, roles, ports.numbers, Goal(is_endless=True))


@contextmanager
def _claimed_home(invocation: Invocation) -> Iterator[ProcessLock]:
    """The home, made if need be, that nobody else crawls or writes."""
    from weft.config import starter
    from weft.supervisor.home_claim import claim_home

    invocation.load()
    _warn_of_secrets(invocation)
    if invocation.home.make(starter()):
        say(f"Created {invocation.home.path}", err=True)
    home = invocation.home_to_write()
    if not home.is_private:
        say(
            f"weft: other users of this machine may read {home.path}; `chmod -R go= {home.path}` makes it private",
            err=True,
        )
    lock = claim_home(home, lambda sentence: say(f"weft: {sentence}", err=True))
    try:
        invocation.writer().close()  # raises an error that says who writes to the store
        yield lock
    finally:
        lock.release()


def _warn_of_secrets(invocation: Invocation) -> None:
    from weft.config import KEYS, secrets_in

    for name in secrets_in(invocation.sets):
        instead = f"use weft.toml or {KEYS[name].variable}"
        say(f"weft: other users of this machine can read {name} on the command line; {instead}", err=True)


def _checked_flags(urls: tuple[str, ...], scope: str | None, flags: dict[str, Any]) -> dict[str, object]:
    """The settings that flags ask for. Raises UsageError before anything is made."""
    settings = settings_of(flags)
    if settings and not urls:
        names = ", ".join(map(flag_of, settings))
        raise UsageError(f"{names}: expected a URL too, because it is a setting of a site; or use `weft sites NAME`")
    if scope == "path" and "include" in settings:
        raise UsageError("--scope path sets the patterns to include; leave out --include or --scope path")
    if scope == "any" and "headers" in settings:
        raise UsageError("--header with --scope any would be sent to every site; use --scope hosts or domains")
    if secrets := secret_headers(settings):
        say(
            f"weft: other users of this machine can read --header {', '.join(secrets)} on the command line; "
            "it is stored for the site, so later crawls do not need the flag",
            err=True,
        )
    return settings


def _prepare(
    invocation: Invocation,
    urls: tuple[str, ...] = (),
    scope: str | None = None,
    settings: dict[str, object] | None = None,
    *,
    is_local: bool = False,
) -> None:
    from weft.actions.settings_warnings import settings_warnings
    from weft.actions.sites import change_sites, unbound_sites
    from weft.roles.identity import require_identity

    with control_plane(invocation) as mgmt:
        require_identity(mgmt, invocation.load().settings)
        seeds = seed_adder(invocation, mgmt, scope, is_local=is_local)
        add_seeds(seeds, (("", url) for url in urls))
        if seeds.refused and seeds.refused == len(urls):
            raise UsageError("none of the URLs can be crawled")
        if scope not in (None, "path"):
            unbound_sites(mgmt, seeds.hosts)
        if settings:
            change_sites(mgmt, seeds.named, settings)
        sites = mgmt.sites()
        if not sites:
            raise UsageError("nothing to crawl: this home has no seeds yet; add some with `weft add URL`")
        if all(site.is_excluded for site in sites):
            raise UsageError("nothing to crawl: every site of this home is excluded; see `weft sites`")
        say_lines((f"weft: {sentence}" for sentence in settings_warnings(invocation.load().settings, sites)), err=True)


def _run(
    invocation: Invocation,
    lock: ProcessLock,
    roles: list[RoleCommand],
    ports: Sequence[int],
    goal: Goal,
    urls: tuple[str, ...] = (),
    *,
    as_json: bool = False,
) -> CrawlSummary:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import crawl_summary
    from weft.cli.crawl_json import say_summary
    from weft.cli.crawl_summary import summary_lines
    from weft.cli.dashboard import view_for
    from weft.cli.run_index import index_address
    from weft.roles.run_token import run_token
    from weft.supervisor.supervisor import Supervisor

    home, settings = invocation.home.path.resolve(), invocation.load().settings
    with control_plane(invocation) as mgmt:
        archive, patience = home / settings.spider.warc_dir, settings.dispatcher.retry_patience
        own = frozenset({index_address(settings, home), *(f"127.0.0.1:{port}" for port in ports)})
        progress = CrawlProgress(mgmt, home, archive, settings.spider.min_free, own, patience)
        view = view_for(sys.stdout, progress, goal, as_json=as_json)
        supervisor = Supervisor(roles, home / "logs", view.say, lock, lambda: progress.was_full)
        watch = _Watch(progress, view, goal)
        with run_token(home), view:
            reason = supervisor.run(watch.is_over, watch.show)
        progress.look()
        named = _urls_of(rules_of(settings), urls)
        summary = crawl_summary(progress, mgmt, reason, settings.dispatcher, named)
        if as_json:
            say_summary(summary)
        else:
            say_lines(summary_lines(summary, invocation.home_flag))
    return summary


def _urls_of(rules: UrlRules, typed: tuple[str, ...]) -> list[str]:
    """The seeds that a person typed, as they are stored; those that are refused are left out."""
    from weft.model.url import UrlRefused

    found = []
    for text in typed:
        with suppress(UrlRefused):
            found.append(rules.identify_typed(text).url)
    return found


class _Watch:
    """Looks now and then, not at every turn of the supervisor."""

    def __init__(self, progress: CrawlProgress, view: CrawlView, goal: Goal) -> None:
        self._progress, self._view, self._goal = progress, view, goal
        self._looked, self._was_low = 0.0, False

    def show(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._progress.look()
            self._tell_of_disk()
            self._view.show()

    def _tell_of_disk(self) -> None:
        disk = self._progress.disk
        if disk.is_low != self._was_low:
            self._was_low = disk.is_low
            how = "full" if disk.is_full else "almost full"
            self._view.say(f"the disk is {how}: {disk}" if disk.is_low else f"fetching resumes: {disk}")

    def is_over(self) -> str:
        from weft.answers.crawl_summary import FINISHED

        seconds, pages = self._goal.seconds, self._goal.pages
        if seconds is not None and self._progress.seconds >= seconds:
            return f"stopped after {seconds:g} s (--seconds)"
        if pages is not None and self._progress.total("pages") >= pages:
            return f"stopped after {pages:,} pages (--pages)"
        if self._progress.is_asked_to_stop:
            return "stopped because its processes were asked to drain (`weft stop --all`)"
        if not self._goal.is_endless and self._progress.is_over:
            return FINISHED
        return ""
