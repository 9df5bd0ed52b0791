"""`weft rules`: which query parameters are ignored, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json, say_table
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.answers.home_index import HomeIndex
    from weft.answers.rules import ReducedUrl, RuleItem

_SHOWN = 12
_AT_ONCE = 1000


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
    with invocation.index() as index:
        if url:
            _explain(index.rules(url=url, limit=1).explained, as_json)
        else:
            _list(_all_rules(index, domain), as_json)


def _all_rules(index: HomeIndex, domain: str | None) -> list[RuleItem]:
    found = index.rules(domain, limit=_AT_ONCE)
    items = list(found.items)
    while found.next:
        found = index.rules(domain, limit=_AT_ONCE, cursor=found.next)
        items += found.items
    return items


def _list(found: list[RuleItem], as_json: bool) -> None:
    if as_json:
        say_json(msgspec.json.encode({"count": len(found), "items": found}))
        return
    if not found:
        say("No rules learned yet.")
        return
    heads = ("rule", "reach", "where", "support", "contradictions", "saved", "learned")
    say_table(heads, [_row(rule) for rule in sorted(found, key=_rank)[:_SHOWN]])
    if len(found) > _SHOWN:
        say(f"{len(found) - _SHOWN} more rules; --json shows all.")


def _rank(rule: RuleItem) -> tuple[bool, int, int]:
    """Those that hold, reach furthest and saved most come first."""
    from weft.answers.rules import REACHES

    return bool(rule.dropped), REACHES.index(rule.reach), -rule.saved


def _row(rule: RuleItem) -> tuple[str, ...]:
    since = rule.learned or "-"
    state = f"{since}, dropped {rule.dropped}" if rule.dropped else since
    about = f"{rule.about} -> {rule.stands}" if rule.stands else rule.about
    return about, rule.reach, rule.where, str(rule.support), str(rule.contradictions), str(rule.saved), state


def _explain(found: ReducedUrl | None, as_json: bool) -> None:
    if found is None:
        return
    if as_json:
        say_json(msgspec.json.encode(found))
        return
    for rule in found.rules:
        say(f"{rule.rule}: {_why(rule.reach, rule.support)}")
    say(
        f"{found.url} -> {found.canonical_url}"
        if found.reduced
        else f"{found.url} is fetched as it is: no rule applies"
    )


def _why(reach: str, support: int) -> str:
    if reach == "hand":
        return "set by hand (drop_parameters)"
    return f"{support} {'paths agree' if reach == 'host' else 'pairs agree' if support > 1 else 'pair agrees'}"
