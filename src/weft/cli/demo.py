"""`weft demo`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from weft.cli.demo_tour import run as tour
from weft.cli.demo_web import judge, serve, truth
from weft.cli.invocation import command, shared_options
from weft.cli.output import say, say_lines
from weft.home import Home


@click.group(
    "demo",
    invoke_without_command=True,
    params=shared_options(),
    subcommand_metavar="[tour | sample | mgmt | serve | judge | truth]",
)
@click.pass_context
def run(context: click.Context) -> None:
    """Show what weft does, offline: a guided tour, small examples, and the synthetic web behind them.

    Without a subcommand it runs `sample`.
    """
    if context.invoked_subcommand is None:
        context.invoke(sample)


@command("sample")
def sample() -> None:
    """Load the three sample pages of the design documents and print the resulting tables.

    Uses a temporary home and removes it at the end.
    """
    from weft.config import Settings, starter
    from weft.config.sections import IndexSettings
    from weft.demo.sample import drawn, fluo_lines, query_lines, sample_pages
    from weft.linkindex.pipeline import LinkIndex
    from weft.store.open import open_reader, open_store

    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        home = Home(Path(directory))
        home.make(starter())
        with open_store(home.store, Settings()) as store:
            applied = LinkIndex(store, IndexSettings()).apply(sample_pages())
        say(f"Loaded {applied.changed} pages with {applied.links} links into {home.path}.")
        with open_reader(home.store, Settings()) as reader:
            for title, lines in (("Fluo table", fluo_lines(reader)), ("Query table", query_lines(reader))):
                say_lines(("", title, ""))
                say_lines(drawn(lines))
        _answer(home)
    say()
    say("The temporary home is removed. Next: `weft import FILE.jsonl`, then `weft top`.")


def _answer(home: Home) -> None:
    import weft

    with weft.open(home.path) as index:
        best = index.top(limit=1).items[0]
        inlinks = index.links(best.url)
    sources = ", ".join(item.url for item in inlinks.items)
    say()
    say(f"Most linked page: {best.url}. {best.references} pages link to it: {sources}")


@command("mgmt")
def mgmt() -> None:
    """Replay the control plane example of the design documents and print its tables after each step."""
    from weft.cli.status import drawn as framed
    from weft.mgmt.sqlite import SqliteMgmt
    from weft.mgmt.story import story

    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        played = SqliteMgmt(Path(directory) / "mgmt.db")
        for step in story(played):
            say(step.title, bold=True)
            for name, rows in step.tables.items():
                say_lines(framed(name, rows))
            say()
        played.close()


for made in (tour, sample, mgmt, serve, judge, truth):
    run.add_command(made)
