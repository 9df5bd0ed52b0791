"""`weft crawl` and `weft up`: all roles on one machine, with a live view."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from weft.cli.add import add_given, local_option, scope_option
from weft.cli.control import control_plane
from weft.cli.crawl_facts import Goal
from weft.cli.invocation import AGO, Invocation, NumberRange, command, rules_of
from weft.cli.output import say, say_lines
from weft.cli.site_flags import flag_of, secret_headers, settings_of, site_flags
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import CrawlSummary
    from weft.cli.dashboard import CrawlView
    from weft.cli.web_address import WebAddress
    from weft.model.site import Site
    from weft.model.url import UrlRules
    from weft.process_lock import ProcessLock
    from weft.supervisor.reserved_ports import ReservedPorts

_LOOK_EVERY = 0.5


def _take_user_agent(context: click.Context, _: click.Parameter, value: str | None) -> None:
    from weft.config.text import quoted
    from weft.config.text_forms import USER_AGENT

    if value is None:
        return
    if not USER_AGENT.holds(value):
        raise UsageError(f"--user-agent: expected {USER_AGENT.words('')}, found {quoted(value)}")
    context.ensure_object(Invocation).sets.append(f"spider.user_agent={quoted(value)}")


def _take_no_web(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(Invocation).sets.append("web.serve=false")


web_option = click.option(
    "--no-web",
    is_flag=True,
    callback=_take_no_web,
    expose_value=False,
    help="Do not serve the web app in this run (web.serve).",
)


@command("crawl")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--pages", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages.")
@click.option("--seconds", type=NumberRange(min=0.1), metavar="S", help="Stop after S seconds.")
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
    type=AGO,
    metavar="S",
    help="Recrawl pages that were fetched more than S seconds ago.",
)
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@web_option
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
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import BESIDE_SPIDERS

    invocation = context.ensure_object(Invocation)
    is_local = bool(flags.pop("is_local"))
    settings = _checked_flags(urls, scope, flags)
    with _claimed_home(invocation) as lock, ReservedPorts(spiders + BESIDE_SPIDERS) as ports:
        _prepare(invocation, urls, scope, settings, is_local=is_local)
        summary = _run(invocation, lock, ports, Goal(pages, seconds), urls, again=again, as_json=as_json)
    context.exit(130 if summary.reason == "interrupted" else 0 if summary.is_complete else 1)


@command("up")
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@web_option
@click.pass_obj
def up(invocation: Invocation, spiders: int) -> None:
    """Crawl continuously and refetch pages when they are due, until Ctrl-C.

    Serves the web app, and prints a link that logs in one browser, so that it may add sites and steer the crawl.
    """
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import BESIDE_SPIDERS

    with (
        _claimed_home(invocation, may_stand_by=True) as lock,
        ReservedPorts(spiders + BESIDE_SPIDERS) as ports,
    ):
        _prepare(invocation, may_wait=True)
        _run(invocation, lock, ports, Goal(is_endless=True))


@contextmanager
def _claimed_home(invocation: Invocation, *, may_stand_by: bool = False) -> Iterator[ProcessLock]:
    """The home, made if need be, that nobody else crawls or writes.

    The index of a cluster may be another's now if this one `may_stand_by`.
    """
    from weft.supervisor.home_claim import claim_home

    invocation.load()
    _warn_of_secrets(invocation)
    if invocation.make_home():
        say(f"Created {invocation.home.path}", err=True)
    home = invocation.home_to_write()
    if not home.is_private:
        say(
            f"weft: other users of this machine may read {home.path}; `chmod -R go= {home.path}` makes it private",
            err=True,
        )
    lock = claim_home(home, lambda sentence: say(f"weft: {sentence}", err=True))
    try:
        invocation.prepare_store(may_stand_by=may_stand_by)
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
    from weft.actions.add_urls import check_addition

    settings = settings_of(flags)
    if settings and not urls:
        names = ", ".join(map(flag_of, settings))
        raise UsageError(f"{names}: expected a URL too, because it is a setting of a site; or use `weft sites NAME`")
    check_addition(scope, settings)
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
    may_wait: bool = False,
) -> None:
    """Add what the user gave. With `may_wait`, there may be nothing to crawl yet."""
    from weft.actions.settings_warnings import settings_warnings
    from weft.roles.identity import require_identity

    with control_plane(invocation) as mgmt:
        require_identity(mgmt, invocation.load().settings)
        added = add_given(invocation, mgmt, (("", url) for url in urls), scope, settings, is_local=is_local)
        if added.refused and added.refused == len(urls):
            raise UsageError("none of the URLs can be crawled")
        sites = mgmt.sites()
        if nothing := _nothing_to_crawl(sites):
            if not may_wait:
                raise UsageError(f"nothing to crawl: {nothing}")
            say(f"weft: nothing to crawl yet: {nothing}", err=True)
        say_lines((f"weft: {sentence}" for sentence in settings_warnings(invocation.load().settings, sites)), err=True)


def _nothing_to_crawl(sites: Sequence[Site]) -> str:
    """Why; empty if there is something."""
    if not sites:
        return "this home has no seeds yet; add some with `weft add URL`"
    return "every site of this home is excluded; see `weft sites`" if all(site.is_excluded for site in sites) else ""


def _run(
    invocation: Invocation,
    lock: ProcessLock,
    ports: ReservedPorts,
    goal: Goal,
    urls: tuple[str, ...] = (),
    *,
    again: float | None = None,
    as_json: bool = False,
) -> CrawlSummary:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import crawl_summary
    from weft.answers.search_servers import search_progress
    from weft.cli.crawl_json import say_summary
    from weft.cli.crawl_summary import summary_lines
    from weft.cli.dashboard import view_for
    from weft.cli.web_address import WebAddress
    from weft.config import as_variables
    from weft.home import Home
    from weft.roles.index_ownership import index_address
    from weft.roles.run_token import run_token
    from weft.supervisor.role_commands import role_commands
    from weft.supervisor.supervisor import Supervisor

    home, settings = invocation.home.path.resolve(), invocation.load().settings
    web = WebAddress.reserved(invocation, ports)
    roles = role_commands(home, as_variables(invocation.sets), ports.numbers, again=again, web=web.listen)
    with control_plane(invocation) as mgmt:
        archive, patience = home / settings.spider.warc_dir, settings.dispatcher.retry_patience
        index = index_address(settings, Home(home))
        own = frozenset({index, *(f"127.0.0.1:{port}" for port in ports.numbers), web.node})
        progress = CrawlProgress(mgmt, home, archive, settings.spider.min_free, own, patience)
        view = view_for(sys.stdout, progress, goal, as_json=as_json)

        def search_gets_on() -> object:
            # Whoever sets a limit in time does not want to wait until all is searchable: the next start goes on.
            return None if goal.is_over_at(progress.seconds) else search_progress(home)

        completing = {"indexserver": search_gets_on}
        supervisor = Supervisor(roles, home / "logs", view.say, lock, lambda: progress.was_full, completing)
        watch = _Watch(progress, view, goal, web)
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

    def __init__(self, progress: CrawlProgress, view: CrawlView, goal: Goal, web: WebAddress) -> None:
        self._progress, self._view, self._goal, self._web = progress, view, goal, web
        self._looked, self._was_low = 0.0, False

    def show(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY or self._may_be_over:
            self._looked = now
            self._progress.look()
            self._tell_of_disk()
            if self._web.has_begun():
                for line in self._web.lines(is_endless=self._goal.is_endless):
                    self._view.announce(line)
            self._view.show()

    @property
    def _may_be_over(self) -> bool:
        """Whoever waits for the end should not wait for the next look, too."""
        return self._progress.is_quiet and not self._goal.is_endless

    def _tell_of_disk(self) -> None:
        disk = self._progress.disk
        if disk.is_low != self._was_low:
            self._was_low = disk.is_low
            how = "full" if disk.is_full else "almost full"
            self._view.say(f"the disk is {how}: {disk}" if disk.is_low else f"fetching resumes: {disk}")

    def is_over(self) -> str:
        from weft.answers.crawl_summary import FINISHED

        seconds, pages = self._goal.seconds or 0.0, self._goal.pages
        if self._goal.is_over_at(self._progress.seconds):
            return f"stopped after {seconds:g} s (--seconds)"
        if pages is not None and self._progress.total("pages") >= pages:
            return f"stopped after {pages:,} pages (--pages)"
        if self._progress.is_asked_to_stop:
            return "stopped because its processes were asked to drain (`weft stop --all`)"
        if not self._goal.is_endless and self._progress.is_over:
            return FINISHED
        return ""
