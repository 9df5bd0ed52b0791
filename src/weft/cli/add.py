"""`weft add`: URLs to crawl, and the sites that they are the first of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import NewLink

_GROUP = 5000
"""Links that are added in one transaction."""
_LISTED = 20
"""Refusals that are named; the others are counted."""
_SEEDS = 100
"""Of a site that are remembered."""


@command("add")
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option(
    "--file", "file", type=click.Path(path_type=Path), help="Read URLs from this file, one a line; - is standard input."
)
@click.option(
    "--scope",
    type=click.Choice(["hosts", "domains", "any"]),
    default="hosts",
    help="What may be crawled from there: the hosts of these URLs, their domains, or anything.",
)
@as_json
@click.pass_context
def add(context: click.Context, urls: tuple[str, ...], file: Path | None, scope: str, as_json: bool) -> None:
    """Make URLs known and have them crawled.

    A URL that cannot be crawled is named, and the others are added all the same. URL - reads from standard input.
    """
    given = _given(urls, file)
    invocation = context.ensure_object(Invocation)
    from weft.config import starter

    if invocation.home.make(starter()):
        invocation.writer().close()
        click.echo(f"made {invocation.home.path}", err=True)
    with control_plane(invocation) as mgmt:
        added = Adding(mgmt, invocation, scope)
        for where, text in given:
            added.offer(where, text)
        added.finish()
    if as_json:
        click.echo(json.dumps({"new": added.new, "known": added.known, "refused": added.refused}))
    else:
        click.echo(f"{added.new} new, {added.known} known already, {added.refused} refused")
    context.exit(2 if added.refused and not (added.new or added.known) else 0)


def _given(urls: tuple[str, ...], file: Path | None) -> Iterator[tuple[str, str]]:
    """(where it stands, text) of everything that was given; what cannot be read is refused before anything is done."""
    if not urls and file is None:
        raise UsageError("nothing to add; expected a URL, --file FILE or - for standard input")
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
        with click.open_file(str(file), encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if text and not text.startswith("#"):
                    yield f"{file}:{number}: ", text
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error


class Adding:
    """Adds URLs in groups, and the sites that they are the first of."""

    def __init__(self, mgmt: Mgmt, invocation: Invocation, scope: str) -> None:
        self._mgmt, self._scope = mgmt, scope
        self._rules = rules_of(invocation.load().settings)
        self._sites = {site.name: site for site in mgmt.sites()}
        self._waiting: list[NewLink] = []
        self._unknown: set[str] = set()
        """Sites that the control plane does not have yet."""
        self._grown: set[str] = set()
        """Sites that have more seeds than it knows; told at the end, as they grow with every group."""
        self.new = self.known = self.refused = 0

    def offer(self, where: str, text: str) -> None:
        from weft.dispatcher.scope import ANYWHERE, web_host_of
        from weft.mgmt.values import NewLink
        from weft.model.url import UrlRefused

        try:
            page = self._rules.identify_typed(text)
        except UrlRefused as refused:
            self.refused += 1
            if self.refused <= _LISTED:
                click.echo(f"weft: {where}{refused}", err=True)
            return
        host = web_host_of(page.url)
        self._waiting.append(NewLink(page.uri, page.url, host))
        name = {"hosts": host, "domains": page.domain, "any": ANYWHERE}[self._scope]
        self._name_site(name, page.url)
        if len(self._waiting) >= _GROUP:
            self._flush()

    def finish(self) -> None:
        self._flush()
        self._mgmt.set_sites([self._sites[name] for name in self._grown])
        if self.refused > _LISTED:
            click.echo(f"weft: {self.refused - _LISTED} more refused", err=True)

    def _flush(self) -> None:
        # Sites first: a link of no site is out of scope.
        self._mgmt.set_sites([self._sites[name] for name in self._unknown])
        new = self._mgmt.add(self._waiting)
        self.new += new
        self.known += len(self._waiting) - new
        self._waiting, self._unknown = [], set()

    def _name_site(self, name: str, seed: str) -> None:
        from weft.mgmt.values import Site

        site = self._sites.get(name)
        if site is None:
            self._sites[name] = Site(name=name, scope=self._scope, seeds=[seed])
            self._unknown.add(name)
        elif len(site.seeds) < _SEEDS and seed not in site.seeds:
            self._sites[name] = msgspec.structs.replace(site, seeds=[*site.seeds, seed])
            self._grown.add(name)
