"""`weft run index`: the one writer of the store: builder, observers and dispatcher."""

from __future__ import annotations

import signal
import threading

import click

from weft.cli.invocation import Invocation, command, rules_of


@command("index")
@click.option(
    "--workers", type=click.IntRange(1, 256), help="Processes that parse pages (default: one less than processors)."
)
@click.option(
    "--again",
    type=click.FloatRange(min=0),
    metavar="S",
    help="First make due what was crawled more than S seconds ago.",
)
@click.pass_obj
def run(invocation: Invocation, workers: int | None, again: float | None) -> None:
    """Load what was crawled into the index, and choose what is crawled next."""
    from weft.cli.roles import begin_logging
    from weft.clock import SystemClock
    from weft.dispatcher.again import make_due
    from weft.dispatcher.iterate import Dispatcher
    from weft.index.builder import Builder
    from weft.index.parsing import reading_all
    from weft.index.service import IndexService
    from weft.linkindex.pipeline import LinkIndex
    from weft.mgmt.open import open_mgmt

    settings, home = invocation.load().settings, invocation.home.require()
    begin_logging()
    stop, clock = threading.Event(), SystemClock()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    archive = home.path / settings.spider.warc_dir
    mgmt = open_mgmt(settings, home)
    with invocation.writer() as store, reading_all(settings, rules_of(settings), archive, workers) as read_all:
        index = LinkIndex(store, settings.index)
        dispatcher = Dispatcher(store, mgmt, settings.dispatcher, clock)
        if again is not None:
            make_due(store, dispatcher.low_water, fetched_before=clock.now() - int(again * 1000), now=clock.now())
        service = IndexService(
            mgmt,
            Builder(store, index, read_all, settings.dispatcher, clock),
            dispatcher,
            settings.dispatcher,
            clock,
            home.path,
            address=f"index@{home.path.resolve()}",
            heartbeat=settings.mgmt.heartbeat,
        )
        click.echo("index runs")
        service.run(stop)
    mgmt.close()
