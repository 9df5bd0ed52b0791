"""`weft restore`: after the control plane was damaged or lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from weft.answers.objects import moment
from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json
from weft.cli.tables import amount
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.actions.restore import LackingLinks


@command("restore")
@click.option(
    "--without-copy", is_flag=True, help="Start a new control plane, without sites, though there may be a copy."
)
@click.option(
    "--links-only",
    is_flag=True,
    help="Leave the control plane as it is, and crawl again what was under way: after you restored it yourself.",
)
@click.option(
    "--new-index",
    is_flag=True,
    help="The index was lost, and the control plane was not: build the index of this home from the archives.",
)
@as_json
@click.pass_obj
def run(invocation: Invocation, without_copy: bool, links_only: bool, new_index: bool, as_json: bool) -> None:
    """Put back the newest good copy of the control plane.

    Nothing may run meanwhile. The damaged file is kept; what was under way is crawled again.
    """
    from weft.actions.restore import after_backup, restore
    from weft.roles.identity import require_store
    from weft.roles.index_ownership import store_owner

    if sum((without_copy, links_only, new_index)) > 1:
        raise UsageError("give only one of --without-copy, --links-only and --new-index")
    settings, home = invocation.load().settings, invocation.home.require()
    if new_index:
        _build_again(invocation, as_json=as_json)
        return
    if links_only:
        with invocation.writer() as store, control_plane(invocation) as mgmt:
            require_store(mgmt, settings, store_owner(settings, home, store))
            links, lacking = after_backup(settings, home, store, mgmt)
        if as_json:
            say_json(json.dumps({"links": links, **_counts(lacking)}))
        else:
            say(f"{_crawled_again(links)}; the search index will be built again")
            _say_lacking(lacking)
        return
    with invocation.writer() as store:
        done = restore(settings, home, store, without_copy=without_copy)
    made = None if done.copy is None else moment(int(done.copy.stat().st_mtime * 1000))
    if as_json:
        facts = {"copy": str(done.copy) if done.copy else None, "made": made, "links": done.links}
        facts |= _counts(done.lacking)
        say_json(json.dumps({**facts, "aside": str(done.aside) if done.aside else None}))
        return
    if made is None:
        say("A new control plane starts without sites; add them with `weft add`")
    else:
        say(f"Restored the copy of {made}")
    if done.aside is not None:
        say(f"  {done.aside.name} is the damaged one; delete it when you like")
    say(f"  {_crawled_again(done.links)}")
    _say_lacking(done.lacking, "  ")


def _crawled_again(links: int) -> str:
    return f"{amount(links, 'link')} that {'was' if links == 1 else 'were'} under way will be crawled again"


def _counts(lacking: LackingLinks) -> dict[str, int]:
    return {"archived": lacking.archived, "refetched": lacking.refetched}


def _say_lacking(lacking: LackingLinks, indent: str = "") -> None:
    """The index is older than the control plane: what becomes of links that were fetched in between."""
    if lacking.archived:
        say(f"{indent}{amount(lacking.archived, 'link')} fetched since will be loaded again from the archive")
    if lacking.refetched:
        what = f"{amount(lacking.refetched, 'link')} fetched since, of which the archive does not have the page"
        say(f"{indent}{what}, will be fetched again")


def _build_again(invocation: Invocation, *, as_json: bool) -> None:
    from weft.actions.restore import build_again
    from weft.roles.identity import require_identity
    from weft.roles.index_ownership import store_owner
    from weft.store.open import is_cluster, open_cluster

    settings, home = invocation.load().settings, invocation.home
    # A cluster's index cannot be owned before the control plane knows that it is the one.
    opened = open_cluster(settings) if is_cluster(settings) else invocation.writer()
    with opened as store, control_plane(invocation) as mgmt:
        require_identity(mgmt, settings)
        owner = store_owner(settings, home, store)
        chunks = build_again(mgmt, store, owner)
    if as_json:
        say_json(json.dumps({"chunks": chunks}))
    else:
        say(f"The index is now in {owner.where}; {amount(chunks, 'chunk')} will be built again from the archives")
        say("  start its index process, and the spiders that hold the archives: `weft run index`, `weft run spider`")
