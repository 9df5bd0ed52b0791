"""`weft crawl` and `weft up`: all roles on one machine, with a live view."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from weft.cli.add import add_seeds, seed_adder
from weft.cli.control import control_plane
from weft.cli.crawl_facts import Goal
from weft.cli.invocation import Invocation, command
from weft.cli.output import say, say_lines
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.cli.dashboard import CrawlView
    from weft.process_lock import ProcessLock
    from weft.supervisor.role_process import RoleCommand

_LOOK_EVERY = 0.5


@command("crawl")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--pages", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages.")
@click.option("--seconds", type=click.FloatRange(min=0.1), metavar="S", help="Stop after S seconds.")
@click.option(
    "--scope",
    type=click.Choice(["hosts", "domains", "any"]),
    help="What the crawl may visit: only the hosts of these URLs (which new sites begin with), their whole domains, "
    "or any site.",
)
@click.option("--local", "is_local", is_flag=True, help="The hosts may be on this machine or in a private network.")
@click.option(
    "--again",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Recrawl pages that were fetched more than S seconds ago.",
)
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@click.pass_context
def crawl(
    context: click.Context,
    urls: tuple[str, ...],
    pages: int | None,
    seconds: float | None,
    scope: str | None,
    is_local: bool,
    again: float | None,
    spiders: int,
) -> None:
    """Crawl from the given URLs until everything in scope is fetched.

    Run it again to resume. Ctrl-C finishes running fetches and stops; a second Ctrl-C stops at once.
    """
    from weft.config import as_variables
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import role_commands

    invocation = context.ensure_object(Invocation)
    with _claimed_home(invocation) as lock, ReservedPorts(spiders + 1) as ports:
        _prepare(invocation, urls, scope, is_local=is_local)
        roles = role_commands(invocation.home.path.resolve(), as_variables(invocation.sets), ports.numbers, again)
        reason = _run(invocation, lock, roles, Goal(pages, seconds), is_endless=False)
    context.exit(130 if reason == "interrupted" else 0)


@command("up")
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Number of fetching processes.")
@click.pass_obj
def up(invocation: Invocation, spiders: int) -> None:
    """Crawl continuously and refetch pages when they are due, until Ctrl-C."""
    from weft.config import as_variables
    from weft.supervisor.reserved_ports import ReservedPorts
    from weft.supervisor.role_commands import role_commands

    with _claimed_home(invocation) as lock, ReservedPorts(spiders + 1) as ports:
        _prepare(invocation, ())
        roles = role_commands(invocation.home.path.resolve(), as_variables(invocation.sets), ports.numbers)
        _run(invocation, lock, roles, Goal(), is_endless=True)


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


def _prepare(
    invocation: Invocation, urls: tuple[str, ...], scope: str | None = None, *, is_local: bool = False
) -> None:
    with control_plane(invocation) as mgmt:
        seeds = seed_adder(invocation, mgmt, scope, is_local=is_local)
        add_seeds(seeds, (("", url) for url in urls))
        if seeds.refused and seeds.refused == len(urls):
            raise UsageError("none of the URLs can be crawled")
        sites = mgmt.sites()
        if not sites:
            raise UsageError("nothing to crawl: this home has no seeds yet; add some with `weft add URL`")
        if all(site.is_excluded for site in sites):
            raise UsageError("nothing to crawl: every site of this home is excluded; see `weft sites`")


def _run(invocation: Invocation, lock: ProcessLock, roles: list[RoleCommand], goal: Goal, *, is_endless: bool) -> str:
    from weft.answers.crawl_progress import CrawlProgress
    from weft.answers.crawl_summary import crawl_summary
    from weft.cli.crawl_summary import summary_lines
    from weft.cli.dashboard import view_for
    from weft.roles.run_token import run_token
    from weft.supervisor.supervisor import Supervisor

    home, settings = invocation.home.path.resolve(), invocation.load().settings
    with control_plane(invocation) as mgmt:
        progress = CrawlProgress(mgmt, home, home / settings.spider.warc_dir, settings.spider.min_free)
        view = view_for(sys.stdout, progress, goal)
        supervisor = Supervisor(roles, home / "logs", view.say, lock)
        watch = _Watch(progress, view, goal, is_endless=is_endless)
        with run_token(home), view:
            reason = supervisor.run(watch.is_over, watch.show)
        progress.look()
        say_lines(summary_lines(crawl_summary(progress, mgmt, reason, settings.dispatcher), invocation.home_flag))
    return reason


class _Watch:
    """Looks now and then, not at every turn of the supervisor."""

    def __init__(self, progress: CrawlProgress, view: CrawlView, goal: Goal, *, is_endless: bool) -> None:
        self._progress, self._view, self._goal = progress, view, goal
        self._is_endless, self._looked, self._was_low = is_endless, 0.0, False

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
            self._view.say(f"the disk is almost full: {disk}" if disk.is_low else f"fetching resumes: {disk}")

    def is_over(self) -> str:
        seconds, pages = self._goal.seconds, self._goal.pages
        if seconds is not None and self._progress.seconds >= seconds:
            return f"stopped after {seconds:g} s (--seconds)"
        if pages is not None and self._progress.total("pages") >= pages:
            return f"stopped after {pages:,} pages (--pages)"
        if not self._is_endless and self._progress.is_over:
            return "finished"
        return ""
