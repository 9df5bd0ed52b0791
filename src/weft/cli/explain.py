"""`weft why` and `weft segment`: what happens to a URL, and what a domain is crawled by next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from weft.answers.objects import moment
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.tables import aligned
from weft.cli.work import control_plane
from weft.errors import NotKnown

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.dispatcher.records import LinkRecord
    from weft.mgmt.api import Mgmt
    from weft.model.url import PageUrl
    from weft.store.api import Reader


@command("why")
@click.argument("url")
@as_json
@click.pass_context
def why(context: click.Context, url: str, as_json: bool) -> None:
    """Tell why URL was or was not fetched, and when it is due.

    Exit code 1 if nothing is known of it.
    """
    invocation = context.ensure_object(Invocation)
    settings = invocation.load().settings
    page = rules_of(settings).identify_typed(url)
    with control_plane(invocation) as mgmt, invocation.reader() as reader:
        facts = explained(reader, mgmt, settings, page, invocation.home.path)
    if as_json:
        click.echo(msgspec.json.encode(facts))
    else:
        for line in spoken(facts):
            click.echo(line)
    context.exit(0 if facts["known"] else 1)


def explained(reader: Reader, mgmt: Mgmt, settings: Settings, page: PageUrl, home: Path) -> dict[str, Any]:
    """All that decides about a URL."""
    from weft.dispatcher.scope import Scope

    record = _record(reader, page)
    link = mgmt.known([page.uri]).get(page.uri)
    depth = record.depth if record else 0
    verdict = Scope(mgmt.sites(), settings.dispatcher).judge(page, depth)
    return {
        "url": record.url if record else page.url,
        "uri": page.uri,
        "domain": page.domain,
        "known": record is not None or link is not None,
        "scope": verdict.site.name if verdict.site else None,
        "refusal": (record.reason if record and record.reason else verdict.reason) or None,
        "record": _told(record) if record else None,
        "control": msgspec.to_builtins(link) if link else None,
        "robots": _robots(mgmt, settings, page),
        "host": _host(home, page),
    }


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


def _robots(mgmt: Mgmt, settings: Settings, page: PageUrl) -> dict[str, Any] | None:
    from urllib.parse import urlsplit

    from weft.config.agent import product_token
    from weft.robots.policy import policy

    parts = urlsplit(page.url)
    origin = f"{parts.scheme}://{parts.netloc}"
    known = mgmt.robots([origin]).get(origin)
    if known is None:
        return None
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    decision = policy(known.status, known.body, product_token(settings.spider)).decide(target)
    return {"origin": origin, "status": known.status, "allowed": decision.allowed, "line": decision.line_text}


def _host(home: Path, page: PageUrl) -> dict[str, Any] | None:
    from weft.dispatcher.scope import web_host_of
    from weft.status_file import read_status

    facts = read_status(home, "urlserver") or {}
    host = web_host_of(page.url)
    return next((queue for queue in facts.get("queues", []) if queue.get("host") == host), None)


def spoken(facts: dict[str, Any]) -> list[str]:
    """The same for people, from the general to the particular."""
    lines = [f"{facts['url']} (uri {facts['uri']}, domain {facts['domain']})"]
    if not facts["known"]:
        lines.append("not known: no page that was crawled names it, and it was not added")
    lines.append(f"scope: site {facts['scope']}" if facts["scope"] else "scope: out of scope, it belongs to no site")
    if facts["refusal"] and facts["scope"]:
        lines.append(f"not crawled: {facts['refusal']}")
    record, control, robots, host = (facts[name] for name in ("record", "control", "robots", "host"))
    if record:
        lines += _record_lines(record)
    if control:
        lines.append("control plane: " + ", ".join(f"{k} {v}" for k, v in control.items() if v not in (None, "", 0)))
    if robots:
        verdict = "allowed" if robots["allowed"] else "refused"
        lines.append(
            f"robots.txt: {verdict}" + (f" by {robots['line']!r}" if robots["line"] else " (no line speaks of it)")
        )
    if host:
        lines.append("host: " + ", ".join(f"{k} {v}" for k, v in host.items() if k != "host"))
    return lines


def _record_lines(record: dict[str, Any]) -> list[str]:
    place = {
        "new": "waits for its first turn",
        "given": "is in the control plane's hands",
        "due": f"is due again {record.get('due', '')}",
        "hidden": "is not to be fetched",
    }[record["place"]]
    found = f"found {record.get('discovered', '')} on {record['source']}" if record.get("source") else "was added"
    lines = [f"link: {place}; {found}; {record['depth']} hops away"]
    if record.get("fetched"):
        outcome = record.get("error") or f"status {record.get('status')}"
        lines.append(f"last fetch: {record['fetched']}, {outcome}")
    for name, words in (("location", "leads to"), ("canonical", "stands for itself as")):
        if record.get(name):
            lines.append(f"{words} {record[name]}")
    return lines


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
