"""`weft demo`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from weft.cli.demo_tour import run as tour
from weft.cli.demo_web import judge, serve, truth
from weft.cli.invocation import command, shared_options
from weft.home import Home


@click.group(
    "demo",
    invoke_without_command=True,
    params=shared_options(),
    subcommand_metavar="[tour | sample | mgmt | serve | judge | truth]",
)
@click.pass_context
def run(context: click.Context) -> None:
    """Show what weft does: a tour over a synthetic web, the documents' examples.

    Without a name it is the sample.
    """
    if context.invoked_subcommand is None:
        context.invoke(sample)


@command("sample")
def sample() -> None:
    """Load the documents' sample, three pages, and print its tables as the documents do.

    Everything happens in a temporary home, which is gone afterwards.
    """
    from weft.config import starter
    from weft.config.sections import IndexSettings, StoreSettings
    from weft.demo.sample import drawn, fluo_lines, query_lines, sample_pages
    from weft.linkindex.pipeline import LinkIndex
    from weft.store.open import open_reader, open_store

    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        home = Home(Path(directory))
        home.make(starter())
        with open_store(home.store, StoreSettings()) as store:
            applied = LinkIndex(store, IndexSettings()).apply(sample_pages())
        click.echo(f"Loaded {applied.changed} pages with {applied.links} references into {home.path}.")
        with open_reader(home.store, StoreSettings()) as reader:
            for title, lines in (("Fluo table", fluo_lines(reader)), ("Query table", query_lines(reader))):
                click.echo(f"\n{title}\n")
                for line in drawn(lines):
                    click.echo(line)
        _answer(home)
    click.echo("\nThe temporary home is gone again. Make your own: `weft import FILE.jsonl`, then `weft top`.")


def _answer(home: Home) -> None:
    import weft

    with weft.open(home.path) as index:
        best = index.top(limit=1).items[0]
        inlinks = index.links(best.url)
    sources = ", ".join(item.url for item in inlinks.items)
    click.echo(f"\nReferenced most: {best.url}, by {best.references} pages: {sources}")


@command("mgmt")
def mgmt() -> None:
    """Play the documents' story of the control plane and draw its relations after each step."""
    from weft.cli.status import drawn as framed
    from weft.mgmt.sqlite import SqliteMgmt
    from weft.mgmt.story import story

    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        played = SqliteMgmt(Path(directory) / "mgmt.db")
        for step in story(played):
            click.echo(click.style(step.title, bold=True))
            for name, rows in step.tables.items():
                for line in framed(name, rows):
                    click.echo(line)
            click.echo()
        played.close()


for made in (tour, sample, mgmt, serve, judge, truth):
    run.add_command(made)
