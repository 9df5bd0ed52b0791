"""`weft url`."""

from __future__ import annotations

import json

import click

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import say, say_json, say_lines
from weft.model.url import UrlRefused, UrlRules, without_userinfo


@command("url")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@as_json
@click.pass_context
def run(context: click.Context, urls: tuple[str, ...], as_json: bool) -> None:
    """Show how weft normalises each URL: its uri (the page's key), its domain, and the URL that it would fetch.

    A URL without a scheme means https. For a refused URL it prints the reason, and the exit code is 1.
    """
    rules = rules_of(context.ensure_object(Invocation).load().settings)
    items = [_identity(rules, given) for given in urls]
    if as_json:
        say_json(json.dumps({"count": len(items), "items": items}))
    else:
        _show(items)
    context.exit(1 if any("refused" in item for item in items) else 0)


def _identity(rules: UrlRules, given: str) -> dict[str, str]:
    shown = without_userinfo(given)
    try:
        found = rules.identify_typed(given)
    except UrlRefused as refused:
        return {"given": shown, "refused": refused.why, "reason": refused.reason.value}
    return {"given": shown, "uri": found.uri, "domain": found.domain, "url": found.url}


def _show(items: list[dict[str, str]]) -> None:
    hidden = {"reason"} if len(items) > 1 else {"reason", "given"}
    for number, item in enumerate(items):
        if number:
            say()
        say_lines(f"{name:<9}{value}" for name, value in item.items() if name not in hidden)
