"""`weft add`, `sites`, `nodes`, `retry`: what to crawl, and who does it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.tables import aligned
from weft.errors import NotKnown, UsageError

if TYPE_CHECKING:
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import NewLink, Site

_GROUP = 5000
"""Links that are added in one transaction."""
_LISTED = 20


@contextmanager
def control_plane(invocation: Invocation) -> Iterator[Mgmt]:
    """The control plane of an existing home."""
    from weft.mgmt.open import open_mgmt

    mgmt = open_mgmt(invocation.load().settings, invocation.home.require())
    try:
        yield mgmt
    finally:
        mgmt.close()


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


def _given(urls: tuple[str, ...], file: Path | None) -> Iterable[tuple[str, str]]:
    """(where it stands, text) of everything that was given."""
    if not urls and file is None:
        raise UsageError("nothing to add; expected a URL, --file FILE or - for standard input")
    for url in urls:
        if url == "-":
            yield from _lines(Path("-"))
        else:
            yield "", url
    if file is not None:
        yield from _lines(file)


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
        self._seeds: dict[str, list[str]] = {}
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
        self._seeds.setdefault(name, []).append(page.url)
        if len(self._waiting) >= _GROUP:
            self._flush()

    def finish(self) -> None:
        self._flush()
        if self.refused > _LISTED:
            click.echo(f"weft: {self.refused - _LISTED} more refused", err=True)

    def _flush(self) -> None:
        new = self._mgmt.add(self._waiting)
        self.new += new
        self.known += len(self._waiting) - new
        for name, seeds in self._seeds.items():
            self._name_site(name, seeds)
        self._waiting, self._seeds = [], {}

    def _name_site(self, name: str, seeds: list[str]) -> None:
        from weft.mgmt.values import Site

        site = self._sites.get(name) or Site(name=name, scope=self._scope)
        kept = list(dict.fromkeys([*site.seeds, *seeds]))[:100]
        if kept != site.seeds or name not in self._sites:
            self._sites[name] = msgspec.structs.replace(site, seeds=kept)
            self._mgmt.set_site(self._sites[name])


@command("sites")
@click.argument("name", required=False)
@click.option("--scope", type=click.Choice(["hosts", "domains", "any"]), help="What belongs to the site.")
@click.option("--exclude/--no-exclude", "is_excluded", default=None, help="Whether nothing of it is crawled.")
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help='Say something about the site (value in TOML): depth=3, budget=1000, priority=1, include=["/docs/"], '
    'exclude=["\\\\?sort="], headers, auth, proxy, ca, verify. KEY= takes it back.',
)
@as_json
@click.pass_obj
def sites(
    invocation: Invocation,
    name: str | None,
    scope: str | None,
    is_excluded: bool | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """List what may be crawled; with NAME, show or change one site.

    NAME is a host, a domain, or * for anything.
    """
    with control_plane(invocation) as mgmt:
        if name and (scope or is_excluded is not None or settings):
            _change_site(mgmt, name, scope, is_excluded, settings)
        found = [site for site in mgmt.sites() if name in (None, site.name)]
    if name and not found:
        raise NotKnown(f"{name} is no site; `weft add` makes sites, and `weft sites` lists them")
    if as_json:
        shown = [_without_secrets(site) for site in found]
        click.echo(msgspec.json.encode({"count": len(found), "items": shown}))
        return
    rows = [
        (
            site.name,
            site.scope,
            "yes" if site.is_excluded else "no",
            _spoken(_without_secrets(site).settings),
            " ".join(site.seeds[:3]),
        )
        for site in found
    ]
    for line in aligned(("site", "scope", "excluded", "settings", "seeds"), rows, widest=60):
        click.echo(line)


_SECRETS = ("auth", "headers", "proxy")


def _without_secrets(site: Site) -> Site:
    shown = {key: "…" if key in _SECRETS else value for key, value in site.settings.items()}
    return msgspec.structs.replace(site, settings=shown)


def _spoken(settings: dict[str, object]) -> str:
    return " ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())


def _change_site(mgmt: Mgmt, name: str, scope: str | None, is_excluded: bool | None, settings: tuple[str, ...]) -> None:
    from weft.mgmt.values import Site

    site = next((site for site in mgmt.sites() if site.name == name), Site(name=name))
    changed = {**site.settings}
    for text in settings:
        key, value = _setting(text)
        changed.pop(key, None)
        if value is not None:
            changed[key] = value
    mgmt.set_site(
        msgspec.structs.replace(
            site,
            scope=scope or site.scope,
            is_excluded=site.is_excluded if is_excluded is None else is_excluded,
            settings=changed,
        )
    )


_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("depth", "budget", "priority"), int),
    **dict.fromkeys(("include", "exclude", "keep_parameters", "drop_parameters"), list),
    **dict.fromkeys(("auth", "proxy", "ca"), str),
    "headers": dict,
    "verify": bool,
}


def _setting(text: str) -> tuple[str, object]:
    import tomllib

    from weft.dispatcher.scope import compiled

    key, sign, value = text.partition("=")
    if not sign or key not in _KINDS:
        raise UsageError(f"--setting {text}: expected KEY=VALUE with one of {', '.join(_KINDS)}")
    if not value:
        return key, None
    try:
        read = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        read = value
    if not isinstance(read, _KINDS[key]):
        kind = _KINDS[key]
        raise UsageError(f"--setting {text}: expected {getattr(kind, '__name__', kind)} in TOML")
    if key in ("include", "exclude"):
        for pattern in map(str, read if isinstance(read, list) else []):
            compiled(pattern)
    return key, read


@command("nodes")
@click.option("--ask", type=click.Choice(["online", "paused", "draining"]), help="Ask the node at ADDRESS to be that.")
@click.argument("address", required=False)
@as_json
@click.pass_obj
def nodes(invocation: Invocation, ask: str | None, address: str | None, as_json: bool) -> None:
    """List weft's own processes: what they are, how they are, what they hold."""
    from weft.mgmt.values import NodeState

    with control_plane(invocation) as mgmt:
        found = [node for node in mgmt.nodes() if address in (None, node.address)]
        if address and not found:
            raise NotKnown(f"there is no node {address}")
        if ask:
            if not address:
                raise UsageError(f"--ask {ask} needs the address of a node")
            for node in found:
                mgmt.ask(node.id, NodeState(ask))
            found = [node for node in mgmt.nodes() if node.address == address]
    if as_json:
        click.echo(msgspec.json.encode({"count": len(found), "items": found}))
        return
    rows = [
        (node.address, node.type, node.state, node.health, f"{node.seen / 1000:.0f}", str(node.holds)) for node in found
    ]
    for line in aligned(("node", "type", "state", "health", "seen s ago", "holds"), rows):
        click.echo(line)


@command("retry")
@click.argument("chunks", nargs=-1, type=int, metavar="[CHUNK]...")
@as_json
@click.pass_obj
def retry(invocation: Invocation, chunks: tuple[int, ...], as_json: bool) -> None:
    """Offer chunks that could not be built to builders again; without CHUNK all of them."""
    from weft.mgmt.values import ChunkId

    with control_plane(invocation) as mgmt:
        offered = mgmt.retry([ChunkId(chunk) for chunk in chunks] or None)
    click.echo(json.dumps({"chunks": offered}) if as_json else f"{offered} chunks offered again")
