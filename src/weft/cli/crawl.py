"""`weft crawl` and `weft up`: all roles on one machine, with a live view."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, command
from weft.cli.work import Adding, control_plane
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.cli.dashboard import View
    from weft.mgmt.api import Mgmt
    from weft.supervisor.child import Role
    from weft.supervisor.progress import Progress

_LOOK_EVERY = 0.5
_NOT_MODIFIED = 304


@command("crawl")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--pages", type=click.IntRange(min=1), metavar="N", help="Stop after about N pages.")
@click.option("--seconds", type=click.FloatRange(min=0.1), metavar="S", help="Stop after S seconds.")
@click.option(
    "--scope",
    type=click.Choice(["hosts", "domains", "any"]),
    default="hosts",
    help="Stay on the hosts of the given URLs, on their domains, or go anywhere.",
)
@click.option(
    "--again", type=click.FloatRange(min=0), metavar="S", help="Crawl again what was crawled more than S seconds ago."
)
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Processes that fetch.")
@click.pass_context
def crawl(
    context: click.Context,
    urls: tuple[str, ...],
    pages: int | None,
    seconds: float | None,
    scope: str,
    again: float | None,
    spiders: int,
) -> None:
    """Crawl from the given URLs until nothing is left that is due, and answer from what was found.

    Run again, it goes on where it was. Ctrl-C finishes what was begun; a second one stops at once.
    """
    from weft.supervisor.roles import all_roles

    invocation = context.ensure_object(Invocation)
    _prepare(invocation, urls, scope)
    roles = all_roles(invocation.home.path.resolve(), invocation.sets, spiders, again)
    reason = _run(invocation, roles, pages=pages, seconds=seconds, is_endless=False)
    context.exit(130 if reason == "interrupted" else 0)


@command("up")
@click.option("--spiders", type=click.IntRange(1, 64), default=1, help="Processes that fetch.")
@click.pass_obj
def up(invocation: Invocation, spiders: int) -> None:
    """Keep crawling what is due, until told to stop."""
    from weft.supervisor.roles import all_roles

    _prepare(invocation, (), "hosts")
    _run(
        invocation,
        all_roles(invocation.home.path.resolve(), invocation.sets, spiders),
        pages=None,
        seconds=None,
        is_endless=True,
    )


def _prepare(invocation: Invocation, urls: tuple[str, ...], scope: str) -> None:
    from weft.config import starter

    invocation.load()
    if invocation.home.make(starter()):
        click.echo(f"made {invocation.home.path}", err=True)
    _refuse_a_home_in_use(invocation)
    with control_plane(invocation) as mgmt:
        adding = Adding(mgmt, invocation, scope)
        for url in urls:
            adding.offer("", url)
        adding.finish()
        if adding.refused and adding.refused == len(urls):
            raise UsageError("none of the URLs can be crawled")
        if not mgmt.sites():
            raise UsageError("nothing to crawl: this home has no sites yet; expected a URL")


def _refuse_a_home_in_use(invocation: Invocation) -> None:
    """Opening the store as its writer tells who holds it."""
    invocation.writer().close()


def _run(
    invocation: Invocation, roles: list[Role], *, pages: int | None, seconds: float | None, is_endless: bool
) -> str:
    from weft.cli.dashboard import view_for
    from weft.supervisor.progress import Progress
    from weft.supervisor.supervise import Supervisor

    home = invocation.home.path.resolve()
    with control_plane(invocation) as mgmt:
        progress = Progress(mgmt, home)
        view = view_for(sys.stdout, progress, pages, seconds)
        supervisor = Supervisor(roles, home / "logs", view.say)
        watch = _Watch(progress, view, pages, seconds, is_endless=is_endless)
        with view:
            reason = supervisor.run(watch.is_over, watch.show)
        progress.look()
        for line in summary(progress, mgmt, reason, home):
            click.echo(line)
    return reason


class _Watch:
    """Looks now and then, not at every turn of the supervisor."""

    def __init__(
        self, progress: Progress, view: View, pages: int | None, seconds: float | None, *, is_endless: bool
    ) -> None:
        self._progress, self._view, self._pages, self._seconds = progress, view, pages, seconds
        self._is_endless, self._looked = is_endless, 0.0

    def show(self) -> None:
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY:
            self._looked = now
            self._progress.look()
            self._view.show()

    def is_over(self) -> str:
        if self._seconds is not None and self._progress.seconds >= self._seconds:
            return f"{self._seconds:g} seconds are over"
        if self._pages is not None and self._progress.total("pages") >= self._pages:
            return f"{self._pages} pages are crawled"
        if not self._is_endless and self._progress.is_over:
            return "nothing is left that is due"
        return ""


def summary(progress: Progress, mgmt: Mgmt, reason: str, home: Path) -> list[str]:
    """What a crawl did, and what became of the URLs that it began with."""
    counts = progress.counts
    seconds = max(progress.seconds, 0.001)
    pages = progress.total("pages")
    found = progress.total("discovered")
    lines = [f"{reason}: {pages} pages in {seconds:.1f} s ({pages / seconds:.1f} pages/s), {found} links found"]
    if counts is not None:
        lines.append("links: " + ", ".join(f"{number} {state}" for state, number in counts.links.items() if number))
        if counts.errors:
            lines.append("errors: " + ", ".join(f"{number} {name}" for name, number in sorted(counts.errors.items())))
    fresh = (progress.index.get("freshness") or {}).get("p50")
    if fresh is not None:
        lines.append(f"fresh: {fresh:.1f} s from the end of a fetch until it is in the answers (half of them)")
    lines += _seeds_that_failed(mgmt)
    lines.append(f"ask it: weft top --home {home}")
    return lines


def _seeds_that_failed(mgmt: Mgmt) -> list[str]:
    from weft.model.url import identity_of

    seeds = [seed for site in mgmt.sites() for seed in site.seeds][:100]
    found = mgmt.known([identity_of(seed).uri for seed in seeds])
    lines = []
    for seed in seeds:
        link = found.get(identity_of(seed).uri)
        if link is not None and link.state.value == "error":
            lines.append(f"seed {seed}: {link.error or 'error'}")
        elif link is not None and link.status >= 300 and link.status != _NOT_MODIFIED:
            lines.append(
                f"seed {seed}: status {link.status}" + (f", leads to {link.location}" if link.location else "")
            )
    return lines
