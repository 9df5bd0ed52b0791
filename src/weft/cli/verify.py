"""`weft verify`, `rebuild`, `digest`: does the index match its pages?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from weft.cli.control import control_plane, recorded_identity
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import say, say_json
from weft.cli.progress import lines_now_and_then
from weft.cli.search_upkeep import compare_search, complete_search, spoken_search, told_search
from weft.cli.tables import amount

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.dispatcher.lost_links import LostLinks
    from weft.index.verify_archive import ArchiveVerification
    from weft.store.api import Reader


@command("verify")
@click.option("--archive", "with_archive", is_flag=True, help="Also compare the pages with the crawl's WARC records.")
@click.option("--search", "with_search", is_flag=True, help="Also compare the search index with the stored pages.")
@as_json
@click.pass_context
def verify(context: click.Context, with_archive: bool, with_search: bool, as_json: bool) -> None:
    """Recompute every count and ranking from the stored pages with separate code, and compare.

    With --archive, the stored pages are first compared with the WARC records that they came from, and their links in
    scope with those that the crawl knows. With --search, every document of the search index is compared with the one
    that the stored pages call for. Prints the first differences; the exit code is 1 if there are any, if records lie on
    a node that cannot be reached, or if the search index is not up to date.
    """
    from weft.linkindex.pipeline import counted
    from weft.linkindex.verify import verify as compare

    invocation = context.ensure_object(Invocation)
    with invocation.home.require().workplace() as directory, invocation.still_reader("verify") as reader:
        archive = _compared_with_archive(invocation, reader) if with_archive else None
        found = compare(reader, counted(reader) or "all", directory, lines_now_and_then())
        seq = reader.last_seq
        rows = compare_search(invocation, reader, directory) if with_search else {}
    searched = rows.values()
    differences = found.differences + sum(row.differences for row in searched)
    differences += archive.differences + archive.lost_links if archive else 0
    examples = [*(archive.examples if archive else ()), *found.examples, *(e for row in searched for e in row.examples)]
    if as_json:
        answer: dict[str, object] = {
            "seq": seq,
            "cells": found.cells,
            "differences": differences,
            "examples": examples,
            **({"archive": _told(archive)} if archive else {}),
            **({"search": {row: told_search(one) for row, one in rows.items()}} if with_search else {}),
        }
        say_json(json.dumps(answer))
    else:
        for example in examples:
            say(example)
        for sentence in _spoken(archive) if archive else ():
            say(sentence)
        say(f"{amount(found.differences, 'difference')} in {amount(found.cells, 'cell')} (seq {seq})")
        for row, one in rows.items():
            say(spoken_search(row, one))
    is_complete = (archive is None or archive.is_complete) and not any(one.behind for one in searched)
    context.exit(0 if is_complete and not differences else 1)


def _compared_with_archive(invocation: Invocation, reader: Reader) -> ArchiveVerification:
    from weft.index.archive_reader import archive_reader_pool
    from weft.index.verify_archive import verify_archive
    from weft.mgmt.open import is_embedded
    from weft.roles.run_token import with_run_token

    settings = invocation.load().settings
    if not is_embedded(settings):
        settings = with_run_token(settings, invocation.home.path)
    archive, lost = invocation.home.path / settings.spider.warc_dir, _lost_links(invocation, reader)
    with archive_reader_pool(settings, rules_of(settings), archive) as read_again:
        return verify_archive(reader, read_again, lines_now_and_then(), lost)


def _lost_links(invocation: Invocation, reader: Reader) -> LostLinks | None:
    """None: nobody can tell what is in scope, because this home has no control plane that can be read."""
    from weft.clock import SystemClock
    from weft.dispatcher.lost_links import LostLinks
    from weft.dispatcher.scope import Scope
    from weft.dispatcher.site_changes import unsettled
    from weft.errors import MgmtError
    from weft.linkindex.pipeline import counted

    settings = invocation.load().settings.dispatcher
    try:
        with control_plane(invocation, to_read=True) as mgmt:
            scope = Scope(mgmt.sites(), settings)
    except MgmtError as error:
        say(f"weft: links are not looked for: {error}", err=True)
        return None
    waiting, counts_within = unsettled(reader, scope, settings), counted(reader) != "external"
    return LostLinks(reader, scope, settings, waiting, SystemClock().now(), counts_within)


def _told(archive: ArchiveVerification) -> dict[str, object]:
    names = ("records", "pages", "left_out", "unreachable", "nodes", "dropped", "differences")
    of_links = ("links", "lost_links", "waiting_links")
    return {name: getattr(archive, name) for name in (*names, *of_links)}


def _spoken(archive: ArchiveVerification) -> Iterator[str]:
    for node, reason in archive.nodes.items():
        yield f"{node} cannot be asked for its records: {reason}"
    left_out = (
        f"; skipped {amount(archive.left_out, 'page')} that did not come from a crawl" if archive.left_out else ""
    )
    unreachable = (
        f"; {amount(archive.unreachable, 'record')} could not be reached, so this check is not complete"
        if archive.unreachable
        else ""
    )
    dropped = f"; {amount(archive.dropped, 'record')} dropped on purpose ([archive])" if archive.dropped else ""
    found = f"{amount(archive.differences, 'difference')} in {amount(archive.records, 'WARC record')}"
    yield f"{found}{unreachable}{dropped}{left_out}"
    if archive.links is not None:
        why = "the sites or settings changed since the last crawl"
        waiting = f"; {amount(archive.waiting_links, 'link')} not looked for: {why}" if archive.waiting_links else ""
        yield f"{amount(archive.lost_links, 'lost link')} among {amount(archive.links, 'link')} in scope{waiting}"


@command("rebuild")
@as_json
@click.pass_obj
def rebuild(invocation: Invocation, as_json: bool) -> None:
    """Recompute every count and ranking from the stored pages, and correct what differs in one atomic step.

    Run it after changing index.count.
    """
    from weft.linkindex.rebuild import rebuild as put_right
    from weft.roles.identity import COUNT

    count = invocation.load().settings.index.count
    # Before anything is written: a control plane that cannot be reached could not be told.
    is_recorded = bool(recorded_identity(invocation))
    with invocation.home.require().workplace() as directory, invocation.writer() as store:
        differences = put_right(store, count, directory, lines_now_and_then())
        seq = store.last_seq
        complete_search(invocation, store, anew=True)
    if is_recorded:
        with control_plane(invocation, to_read=True) as mgmt:
            mgmt.agree({COUNT: count}, replaces=True)
    if as_json:
        say_json(json.dumps({"seq": seq, "differences": differences, "counting": count}))
    else:
        say(f"{amount(differences, 'cell')} corrected (seq {seq}, counting {count} references)")


@command("digest")
@as_json
@click.pass_obj
def digest(invocation: Invocation, as_json: bool) -> None:
    """Print one hash over all pages, counts and rankings: equal indexes have equal hashes."""
    from weft.linkindex.digest import digest as hashed

    with invocation.still_reader("digest") as reader:
        found, seq = hashed(reader), reader.last_seq
    if as_json:
        say_json(json.dumps({"seq": seq, "digest": found}))
    else:
        say(found)
