"""`weft sites`: what may be crawled, and the settings of each site."""

from __future__ import annotations

import json

import click
import msgspec

from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say_json, say_table
from weft.errors import NotKnown, UsageError
from weft.model.similar import did_you_mean
from weft.model.site import SITE_KEYS, Site


@command("sites")
@click.argument("name", required=False)
@click.option(
    "--scope",
    type=click.Choice(["hosts", "domains", "any"]),
    help="What belongs to the site: its host, its domain, or anything.",
)
@click.option("--exclude/--no-exclude", "is_excluded", default=None, help="Stop (or resume) crawling this site.")
@click.option(
    "--setting",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help='Change a setting (value in TOML), such as depth=3 or include=["/docs/"]; KEY= removes it. '
    f"Keys: {', '.join(SITE_KEYS)}.",
)
@click.option("--new", "is_new", is_flag=True, help="Make NAME a site if it is none yet.")
@as_json
@click.pass_obj
def sites(
    invocation: Invocation,
    name: str | None,
    scope: str | None,
    is_excluded: bool | None,
    settings: tuple[str, ...],
    is_new: bool,
    as_json: bool,
) -> None:
    """List the sites that may be crawled; with NAME, show or change one.

    NAME is a host, a domain, or * for any site.
    """
    from weft.actions.sites import SiteChange, change_site
    from weft.answers.sites import site_item

    if name is None and (is_new or scope or is_excluded is not None or settings):
        raise UsageError("a change needs the NAME of a site")
    change = SiteChange(scope, is_excluded, dict(map(_setting, settings)))
    is_change = bool(change) or is_new
    with control_plane(invocation, to_read=not is_change) as mgmt:
        if name and is_change:
            change_site(mgmt, name, change, is_new=is_new)
        known = mgmt.sites()
    found = [site for site in known if name in (None, site.name)]
    if name and not found:
        advice = "`weft add URL` creates one, `weft sites` lists them"
        raise NotKnown(f"{name} is not a site{did_you_mean(name, [site.name for site in known])}; {advice}")
    if as_json:
        items = [site_item(site) for site in found]
        say_json(msgspec.json.encode({"count": len(found), "items": items}))
        return
    say_table(("site", "scope", "excluded", "settings", "seeds"), list(map(_row, found)), widest=60)


def _row(site: Site) -> tuple[str, ...]:
    settings = " ".join(f"{key}={json.dumps(value)}" for key, value in site.settings.shown().items())
    seeds = " ".join(site.seeds[:3]) or (f"redirected from {site.led_from}" if site.led_from else "")
    return site.name, site.scope, "yes" if site.is_excluded else "no", settings, seeds


def _setting(text: str) -> tuple[str, object]:
    """The name and value of KEY=VALUE; text that is not TOML is taken as it is, and no value means None."""
    from weft.config.text import toml_value

    key, sign, value = text.partition("=")
    if not sign or key not in SITE_KEYS:
        raise UsageError(f"--setting {key}: expected KEY=VALUE with one of {', '.join(SITE_KEYS)}")
    if not value:
        return key, None
    try:
        return key, toml_value(value)
    except ValueError:
        return key, value
