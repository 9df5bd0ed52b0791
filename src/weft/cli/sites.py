"""`weft sites`: what may be crawled, and what was said about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.tables import aligned
from weft.errors import NotKnown, UsageError

if TYPE_CHECKING:
    from weft.mgmt.api import Mgmt
    from weft.mgmt.values import Site


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
    mgmt.set_sites(
        [
            msgspec.structs.replace(
                site,
                scope=scope or site.scope,
                is_excluded=site.is_excluded if is_excluded is None else is_excluded,
                settings=changed,
            )
        ]
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
