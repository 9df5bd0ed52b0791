"""`weft why` and `weft segment`: what happens to a URL, and what a domain is crawled by next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from weft.answers.objects import moment
from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.tables import aligned
from weft.errors import NotKnown

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.dispatcher.records import LinkRecord
    from weft.mgmt.api import Mgmt
    from weft.model.refusal import Refusal
    from weft.model.site import Site
    from weft.model.url import PageUrl
    from weft.store.api import Reader

MOST_HOPS: Final = 10
"""Redirects of a chain that are shown."""


@command("why")
@click.argument("url")
@as_json
@click.pass_context
def why(context: click.Context, url: str, as_json: bool) -> None:
    """Tell why URL was or was not fetched, and when it is due.

    Exit code 1 if nothing is known of it.
    """
    from weft.cli.explain_words import spoken

    invocation = context.ensure_object(Invocation)
    settings = invocation.load().settings
    page = rules_of(settings).identify_typed(url)
    with control_plane(invocation) as mgmt, invocation.reader() as reader:
        facts = explained(reader, mgmt, settings, page)
    if as_json:
        click.echo(msgspec.json.encode(facts))
    else:
        for line in spoken(facts):
            click.echo(line)
    context.exit(0 if facts["known"] else 1)


def explained(reader: Reader, mgmt: Mgmt, settings: Settings, page: PageUrl) -> dict[str, Any]:
    """All that decides about a URL."""
    from weft.cli.explain_host import host_facts, robots_facts, sitemap_of
    from weft.dispatcher import entered
    from weft.dispatcher.scope import Scope

    record = _record(reader, page)
    link = mgmt.known([page.uri]).get(page.uri)
    depth = record.depth if record else 0
    scope = Scope(mgmt.sites(), settings.dispatcher)
    verdict = scope.judge(page, depth)
    not_entered = None if record or link else entered.refusal(reader, scope, page, settings.dispatcher.max_domains)
    url = record.url if record else link.url if link else page.url
    return {
        "url": url,
        "uri": page.uri,
        "domain": page.domain,
        "known": record is not None or link is not None,
        "scope": verdict.site.name if verdict.site else None,
        "refusal": _refusal(record, verdict.refusal or not_entered),
        "budget": _budget(reader, verdict.site),
        "record": _told(record) if record else None,
        "leads_to": _chain(reader, page, record),
        "sitemap_of": sitemap_of(mgmt, settings, page._replace(url=url)),
        "control": msgspec.to_builtins(link) if link else None,
        "robots": robots_facts(mgmt, settings, url),
        "host": host_facts(mgmt, settings, url),
    }


def _refusal(record: LinkRecord | None, now: Refusal | None) -> str | None:
    """Why it is not crawled: what its record holds, else what would be decided now."""
    if record is not None and record.reason:
        return record.reason
    return now.text if now else None


def _record(reader: Reader, page: PageUrl) -> LinkRecord | None:
    from weft.dispatcher.records import decode_record, link_column
    from weft.model.domain import reversed_domain
    from weft.store.tables import Table

    domain = reversed_domain(page.domain).encode()
    cell = reader.get(Table.LINKS, [link_column(domain, page.uri.encode())])[0]
    return decode_record(cell.value) if cell else None


def _told(record: LinkRecord) -> dict[str, Any]:
    times = {
        name: moment(getattr(record, name))
        for name in ("discovered", "fetched", "due", "changed")
        if getattr(record, name)
    }
    names = ("depth", "source", "status", "error", "failures", "location", "canonical")
    others = {name: getattr(record, name) for name in names if getattr(record, name)}
    return {"place": record.place.value, "depth": record.depth, **times, **others}


def _chain(reader: Reader, page: PageUrl, record: LinkRecord | None) -> list[dict[str, Any]]:
    """Where redirects lead, hop by hop; a loop ends where it closes."""
    from weft.model.url import Uri, domain_of

    seen: set[str] = {page.uri}
    hops: list[dict[str, Any]] = []
    while record is not None and record.location and "://" not in record.location and len(hops) < MOST_HOPS:
        uri = Uri(record.location)
        record = _record(reader, page._replace(uri=uri, domain=domain_of(uri)))
        about = {} if record is None else {"status": record.status, "error": record.error}
        hops.append({"uri": uri, **{name: value for name, value in about.items() if value}})
        if uri in seen:
            break
        seen.add(uri)
    return hops


def _budget(reader: Reader, site: Site | None) -> dict[str, int] | None:
    from weft.dispatcher.budgets import Budgets

    budget = site.settings.budget if site else None
    return None if site is None or budget is None else {"most": budget, "taken": Budgets(reader).taken(site.name)}


@command("segment")
@click.argument("domain")
@as_json
@click.pass_obj
def segment(invocation: Invocation, domain: str, as_json: bool) -> None:
    """Show the links that DOMAIN is crawled by next, without taking them."""
    from weft.clock import SystemClock
    from weft.dispatcher.segment import choose
    from weft.dispatcher.work import LinkRound
    from weft.model.domain import reversed_domain

    settings = invocation.load().settings
    name = rules_of(settings).identify_typed(domain).domain
    with invocation.reader() as reader:
        links = LinkRound(reader, 1)
        key = reversed_domain(name).encode()
        chosen = choose(reader, links, key, settings.dispatcher, SystemClock().now())
        work = links.works([key])[key]
    if not work.links:
        raise NotKnown(f"no link of {name} is known")
    if as_json:
        items = [{"uri": each.uri.decode(), "url": each.record.url, "why": each.why} for each in chosen]
        about = {"domain": name, "links": work.links, "outstanding": work.outstanding}
        click.echo(msgspec.json.encode({**about, "count": len(items), "items": items}))
        return
    for line in aligned(("why", "url"), [(each.why, each.record.url) for each in chosen]):
        click.echo(line)
    click.echo(click.style(f"{work.links} links of {name} known, {work.outstanding} under way", dim=True))
