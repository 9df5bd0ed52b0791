"""`weft rules`: which query parameters are ignored, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from weft.answers.objects import moment
from weft.cli.control import control_plane
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import say, say_json, say_table
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.dispatcher.parameters.rule_list import ListedRule
    from weft.model.url import PageUrl

_SHOWN = 12
_REACHES = ("host", "path", "value")


@command("rules")
@click.argument("domain", required=False)
@click.option("--explain", "url", metavar="URL", help="Show which rules apply to this URL, and what it is reduced to.")
@as_json
@click.pass_obj
def run(invocation: Invocation, domain: str | None, url: str | None, as_json: bool) -> None:
    """Show which query parameters weft has learned to ignore, for DOMAIN or for all domains.

    Weft learns a rule from pages that have the same text with and without a parameter. "support" counts this evidence:
    pairs of URLs on one path, or paths of one host. Prints the rules with the widest reach and the most saved
    fetches; --json prints all. `weft sites` sets parameters by hand.
    """
    if domain and url:
        raise UsageError("give DOMAIN or --explain, not both")
    rules = rules_of(invocation.load().settings)
    if url:
        _explain(invocation, rules.identify_typed(url), as_json)
    else:
        _list(invocation, rules.identify_typed(domain).domain if domain else None, as_json)


def _list(invocation: Invocation, domain: str | None, as_json: bool) -> None:
    from weft.dispatcher.link_records import DOMAIN_ROW
    from weft.dispatcher.parameters.rule_list import rules_of_domain
    from weft.model.domain import Domain, reversed_domain
    from weft.store.tables import Table

    settings = invocation.load().settings.dispatcher
    with invocation.reader() as reader:
        rows = list(reader.rows(Table.LINKS, DOMAIN_ROW))
        names = [row[len(DOMAIN_ROW) :] for row in rows]
        if domain is not None:
            names = [reversed_domain(Domain(domain)).encode()]
        found = [rule for name in names for rule in rules_of_domain(reader, name, settings)]
    if as_json:
        items = [_told(rule) for rule in found]
        say_json(msgspec.json.encode({"count": len(items), "items": items}))
        return
    if not found:
        say("No rules learned yet.")
        return
    heads = ("rule", "reach", "where", "support", "contradictions", "saved", "learned")
    say_table(heads, [_row(rule) for rule in sorted(found, key=_rank)[:_SHOWN]])
    if len(found) > _SHOWN:
        say(f"{len(found) - _SHOWN} more rules; --json shows all.")


def _rank(rule: ListedRule) -> tuple[bool, int, int]:
    """Those that hold, reach furthest and saved most come first."""
    return bool(rule.dropped), _REACHES.index(rule.reach), -rule.saved


def _told(rule: ListedRule) -> dict[str, Any]:
    times = {"learned": rule.learned, "dropped": rule.dropped}
    return {**rule._asdict(), **{name: moment(at) if at else None for name, at in times.items()}}


def _row(rule: ListedRule) -> tuple[str, ...]:
    since = moment(rule.learned) if rule.learned else "-"
    state = f"{since}, dropped {moment(rule.dropped)}" if rule.dropped else since
    about = f"{rule.about} -> {rule.stands}" if rule.stands else rule.about
    return about, rule.reach, rule.where, str(rule.support), str(rule.contradictions), str(rule.saved), state


def _explain(invocation: Invocation, page: PageUrl, as_json: bool) -> None:
    from weft.dispatcher.parameters.parameter_round import ParameterRound
    from weft.dispatcher.parameters.reduction import user_rules
    from weft.dispatcher.scope import Scope
    from weft.model.domain import reversed_domain

    settings = invocation.load().settings.dispatcher
    with control_plane(invocation) as mgmt, invocation.reader() as reader:
        said = user_rules(Scope(mgmt.sites(), settings).site_of(page))
        reduced = ParameterRound(reader, settings).reduce(reversed_domain(page.domain).encode(), page, said)
    rules = reduced.rules if reduced else []
    target = reduced.page if reduced else page
    if as_json:
        told = [{"rule": rule.text, "reach": rule.reach.value, "support": rule.support} for rule in rules]
        facts = {"url": page.url, "uri": page.uri, "canonical": target.uri, "canonical_url": target.url}
        say_json(msgspec.json.encode({**facts, "reduced": reduced is not None, "rules": told}))
        return
    for rule in rules:
        say(f"{rule.text}: {_why(rule.reach.value, rule.support)}")
    say(f"{page.url} -> {target.url}" if reduced else f"{page.url} is fetched as it is: no rule applies")


def _why(reach: str, support: int) -> str:
    if reach == "hand":
        return "set by hand (drop_parameters)"
    return f"{support} {'paths agree' if reach == 'host' else 'pairs agree' if support > 1 else 'pair agrees'}"
