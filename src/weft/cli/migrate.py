"""`weft migrate`: the index moves to another engine."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json, say_lines
from weft.cli.progress import lines_now_and_then
from weft.cli.tables import amount
from weft.config.text import hide_password, quoted
from weft.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.config import Settings
    from weft.migrate.migration import Migrated


@command("migrate")
@click.option("--to", "store", required=True, metavar="URL", help="Where the index goes, as in store.url.")
@click.option(
    "--mgmt", metavar="URL", help="Where the control plane goes, as in mgmt.url (default: it stays where it is)."
)
@click.option("--again", is_flag=True, help="Empty what is there, and start over.")
@as_json
@click.pass_obj
def run(invocation: Invocation, store: str, mgmt: str | None, again: bool, as_json: bool) -> None:
    """Copy the index to another engine: from RocksDB to Cassandra, or back.

    Nothing may run meanwhile. If it is interrupted, the same command resumes where it stopped. At the end it compares
    the digests of both, and prints the settings that put the new index to use. The old index stays as it is.

    A cluster needs PostgreSQL: --mgmt copies the control plane into an empty database.
    """
    from weft.config import load
    from weft.mgmt.open import is_embedded
    from weft.migrate.migration import Migration

    home, old = invocation.home_to_write(), invocation.load().settings
    if store.startswith("cassandra:") and is_embedded(old) and mgmt is None:
        raise UsageError(
            "a cluster needs a control plane in PostgreSQL; name an empty database with --mgmt postgresql://…"
        )
    chosen = [f"store.url={quoted(store)}", *([f"mgmt.url={quoted(mgmt)}"] if mgmt else [])]
    new = load(home.path, os.environ, [*invocation.sets, *chosen]).settings
    try:
        done = Migration(home, old, new, again).run(lines_now_and_then(), partial(say, err=True))
    except KeyboardInterrupt:
        say("weft: interrupted; the same command resumes where it stopped", err=True)
        raise click.exceptions.Exit(130) from None
    if as_json:
        say_json(json.dumps(done._asdict()))
    else:
        say_lines(_told(done, old, new))


def _told(done: Migrated, old: Settings, new: Settings) -> Iterator[str]:
    yield f"Copied {amount(done.cells, 'cell')} to {hide_password(new.store.url)} (seq {done.seq})"
    yield f"  digest {done.digest}, the same on both sides"
    if done.rows is not None:
        yield f"Copied {amount(done.rows, 'row')} of the control plane to {hide_password(new.mgmt.url)}"
    yield "Next: write this into weft.toml, on every machine; until then, the old index is used."
    yield "  [store]"
    yield f"  url = {quoted(hide_password(new.store.url))}"
    if new.mgmt.url != old.mgmt.url:
        yield "  [mgmt]"
        yield f"  url = {quoted(hide_password(new.mgmt.url))}"
    yield f"The old index stays in {hide_password(old.store.url)}."
    yield "Search is built anew: `weft up` and `weft crawl` do that while they run, `weft rebuild` at once."
