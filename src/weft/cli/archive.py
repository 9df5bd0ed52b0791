"""`weft archive`: what is kept of what was fetched."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command, shared_options
from weft.cli.output import say, say_json
from weft.cli.tables import amount
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.index.prune_archive import Pruned
    from weft.mgmt.api import OperatorCalls
    from weft.store.api import Reader


@click.group("archive", params=shared_options(), subcommand_metavar="prune")
def run() -> None:
    """Drop captures that need not be kept."""


@command("prune")
@click.option("--dry-run", "is_dry", is_flag=True, help="Say what would go, and drop nothing.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1),
    default=0.0,
    metavar="SHARE",
    help="Rewrite a file only if at least this share of it goes.",
)
@as_json
@click.pass_obj
def prune(invocation: Invocation, is_dry: bool, share: float, as_json: bool) -> None:
    """Drop captures as `[archive]` says: the oldest first, and none that the index needs.

    Weft may run meanwhile; its index process does the same by itself now and then.
    """
    from weft.answers.disk import size
    from weft.clock import SystemClock
    from weft.index.prune_archive import needed_by, prune_archive

    settings, home = invocation.load().settings, invocation.home_to_write()
    bounds = settings.archive
    if not bounds.is_bounded:
        raise UsageError("nothing would go: set archive.keep_days, archive.keep_captures or archive.keep_bytes")
    directory = home.path / settings.spider.warc_dir
    if not is_dry:
        os.nice(10)
    with home.workplace() as workplace, control_plane(invocation, to_read=True) as mgmt:

        def reader() -> Reader:
            found = invocation.reader()
            _require_own(mgmt, found)
            return found

        done = prune_archive(
            directory,
            bounds,
            lambda: needed_by(mgmt, reader),
            workplace,
            SystemClock().now(),
            worth=share,
            is_dry=is_dry,
        )
    if as_json:
        say_json(msgspec.json.encode(done))
        return
    say(_sentence(done, is_dry=is_dry))
    for problem in done.problems:
        say(f"weft: {problem}", err=True)
    if bounds.keep_bytes and done.size > bounds.keep_bytes:
        say(f"  that is more than archive.keep_bytes ({size(bounds.keep_bytes)}): the rest is needed or being written")


run.add_command(prune)


def _sentence(done: Pruned, *, is_dry: bool) -> str:
    from weft.answers.disk import size

    if not done.files:
        return f"Nothing {'would go' if is_dry else 'had to go'}; the archive has {size(done.size)}"
    what = f"{amount(done.captures, 'capture')} of {amount(done.files, 'file')}, {size(done.freed)}"
    if is_dry:
        return f"Would drop about {what}; the archive would have {size(done.size)} then"
    return f"Dropped {what}; the archive has {size(done.size)} now"


def _require_own(mgmt: OperatorCalls, reader: Reader) -> None:
    """Another index, such as an empty one in place of one that was lost, does not know what is needed."""
    owner = mgmt.index_store()
    if owner is not None and owner.id != reader.id:
        reader.close()
        raise UsageError(
            f"the index of this control plane is in {owner.where} (machine:home); it alone knows what is needed"
        )
