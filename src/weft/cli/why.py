"""`weft why` and `weft segment`: why a URL was or was not fetched, and what is crawled next."""

from __future__ import annotations

import click
import msgspec

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import say, say_json, say_lines, say_table
from weft.cli.tables import amount
from weft.errors import NotKnown


@command("why")
@click.argument("url")
@as_json
@click.pass_context
def why(context: click.Context, url: str, as_json: bool) -> None:
    """Explain why URL was or was not fetched, and when it is due.

    The exit code is 1 if URL is not known.
    """
    from weft.cli.why_words import why_lines

    with context.ensure_object(Invocation).index() as index:
        found = index.why(url)
    if as_json:
        say_json(msgspec.json.encode(found))
    else:
        say_lines(why_lines(found))
    context.exit(0 if found.known else 1)


@command("segment")
@click.argument("domain")
@as_json
@click.pass_obj
def segment(invocation: Invocation, domain: str, as_json: bool) -> None:
    """Show which links of DOMAIN would be crawled next, and why. Changes nothing."""
    from weft.clock import SystemClock
    from weft.dispatcher.link_round import LinkRound
    from weft.dispatcher.segment import choose
    from weft.model.domain import reversed_domain

    settings = invocation.load().settings
    name = rules_of(settings).identify_typed(domain).domain
    with invocation.reader() as reader:
        links = LinkRound(reader, 1)
        key = reversed_domain(name).encode()
        chosen = choose(reader, links, key, settings.dispatcher, SystemClock().now())
        work = links.works([key])[key]
    if not work.links:
        raise NotKnown(f"no links of {name} are known")
    if as_json:
        items = [{"uri": each.uri.decode(), "url": each.record.url, "why": each.why} for each in chosen]
        about = {"domain": name, "links": work.links, "outstanding": work.outstanding}
        say_json(msgspec.json.encode({**about, "count": len(items), "items": items}))
        return
    say_table(("why", "url"), [(each.why, each.record.url) for each in chosen])
    say(f"{amount(work.links, 'link')} of {name} known, {work.outstanding:,} in progress", dim=True)
