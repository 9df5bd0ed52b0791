"""`weft add`: seeds, and the sites that they create."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json
from weft.cli.tables import amount
from weft.errors import UsageError, WeftError

if TYPE_CHECKING:
    from weft.actions.add_urls import AddedUrls
    from weft.mgmt.api import OperatorCalls

scope_option = click.option(
    "--scope",
    type=click.Choice(["path", "hosts", "domains", "any"]),
    help="What the crawl may visit: only the paths of these URLs, their hosts (which new sites begin with), their "
    "whole domains, or any site.",
)
local_option = click.option(
    "--local", "is_local", is_flag=True, help="The hosts may be on this machine or in a private network."
)


@command("add")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path),
    help="Read URLs from this file, one per line; - is standard input.",
)
@scope_option
@local_option
@as_json
@click.pass_context
def add(
    context: click.Context, urls: tuple[str, ...], file: Path | None, scope: str | None, is_local: bool, as_json: bool
) -> None:
    """Add seeds: URLs where the next crawl starts.

    URLs that cannot be crawled are listed; the others are added. Use - as URL to read from standard input.
    """
    given = _given(urls, file)
    invocation = context.ensure_object(Invocation)
    from weft.roles.identity import require_identity

    if invocation.make_home():
        invocation.prepare_store(may_stand_by=True)
        say(f"Created {invocation.home.path}", err=True)
    with control_plane(invocation) as mgmt:
        require_identity(mgmt, invocation.load().settings)
        added = add_given(invocation, mgmt, given, scope, is_local=is_local)
    if as_json:
        say_json(json.dumps({"new": added.new, "known": added.known, "refused": added.refused}))
    else:
        say(f"{amount(added.new, 'URL')} added, {added.known:,} already known, {added.refused:,} refused")
    context.exit(2 if added.refused and not (added.new or added.known) else 0)


def add_given(
    invocation: Invocation,
    mgmt: OperatorCalls,
    given: Iterable[tuple[str, str]],
    scope: str | None,
    settings: Mapping[str, object] | None = None,
    *,
    is_local: bool,
) -> AddedUrls:
    """Add (position in the input, text) pairs, and print the first ones that are refused."""
    from weft.actions.add_urls import add_urls

    where = ""

    def texts() -> Iterator[str]:
        nonlocal where
        for where, text in given:  # noqa: B007 - of the URL that is being added, for `tell`
            yield text

    def tell(refused: WeftError) -> None:
        say(f"weft: {where}{refused}", err=True)

    added = add_urls(
        mgmt,
        invocation.load().settings,
        texts(),
        scope,
        settings,
        is_local=is_local,
        is_permitted=_ask_about_local,
        tell=tell,
    )
    if more := added.refused - len(added.refusals):
        say(f"weft: {more} more refused", err=True)
    return added


def _ask_about_local(web_host: str, where: str) -> bool:
    """One clear question, if there is somebody to answer it."""
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    say(f"{web_host} is on this machine or in a private network: {where}.", err=True)
    return click.confirm("Crawl it?", err=True)


def _given(urls: tuple[str, ...], file: Path | None) -> Iterator[tuple[str, str]]:
    """(position in the input, text) of every URL given. Raises before anything is added if a file cannot be read."""
    if not urls and file is None:
        raise UsageError("nothing to add; expected a URL, --file FILE or - for standard input")
    if sys.stdin is None and "-" in (*urls, str(file)):
        raise UsageError("- cannot be read: standard input is closed")
    if file is not None:
        _refuse_unreadable(file)
    return _items(urls, file)


def _items(urls: tuple[str, ...], file: Path | None) -> Iterator[tuple[str, str]]:
    for url in urls:
        if url == "-":
            yield from _lines(Path("-"))
        else:
            yield "", url
    if file is not None:
        yield from _lines(file)


def _refuse_unreadable(file: Path) -> None:
    if str(file) != "-":
        for _ in _lines(file):
            return


def _lines(file: Path) -> Iterable[tuple[str, str]]:
    try:
        # Some editors begin a file with a byte order mark.
        with click.open_file(str(file), encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if text and not text.startswith("#"):
                    yield f"{file}:{number}: ", text
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
