"""`weft verify`, `rebuild`, `digest`: is the index what its pages say it is."""

from __future__ import annotations

import json

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.progress import lines_now_and_then


@command("verify")
@as_json
@click.pass_context
def verify(context: click.Context, as_json: bool) -> None:
    """Compute every derived cell anew from the pages, by another program, and compare.

    Exit code 1 if anything differs; the first differences are printed.
    """
    from weft.linkindex.pipeline import counted
    from weft.linkindex.verify import verify as compare

    invocation = context.ensure_object(Invocation)
    with invocation.home.require().workplace() as directory, invocation.reader() as reader:
        found = compare(reader, counted(reader) or "all", directory, lines_now_and_then())
        seq = reader.last_seq
    if as_json:
        examples = list(found.examples)
        answer = {"seq": seq, "cells": found.cells, "differences": found.differences, "examples": examples}
        click.echo(json.dumps(answer))
    else:
        for example in found.examples:
            click.echo(example)
        click.echo(f"{found.cells} cells compared, {found.differences} differences (seq {seq})")
    context.exit(1 if found.differences else 0)


@command("rebuild")
@as_json
@click.pass_obj
def rebuild(invocation: Invocation, as_json: bool) -> None:
    """Compute every derived cell anew from the pages and write what differs, in one step for readers.

    After a change of index.count this makes the tables count so.
    """
    from weft.linkindex.rebuild import rebuild as put_right

    count = invocation.load().settings.index.count
    with invocation.home.require().workplace() as directory, invocation.writer() as store:
        differences = put_right(store, count, directory, lines_now_and_then())
        seq = store.last_seq
    if as_json:
        click.echo(json.dumps({"seq": seq, "differences": differences, "counting": count}))
    else:
        click.echo(f"{differences} cells put right (seq {seq}, counting {count} references)")


@command("digest")
@as_json
@click.pass_obj
def digest(invocation: Invocation, as_json: bool) -> None:
    """Print one hash over every page and derived cell: two indexes that say the same have the same."""
    from weft.linkindex.digest import digest as hashed

    with invocation.reader() as reader:
        found, seq = hashed(reader), reader.last_seq
    click.echo(json.dumps({"seq": seq, "digest": found}) if as_json else found)
