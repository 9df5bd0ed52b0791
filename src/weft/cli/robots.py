"""`weft robots`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import say_json, say_lines
from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.model.url import UrlRules
    from weft.robots.rules import Rules

STANDARD_INPUT = "-"


@command("robots")
@click.argument("file")
@click.argument("agent")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@as_json
@click.pass_context
def run(context: click.Context, file: str, agent: str, urls: tuple[str, ...], as_json: bool) -> None:
    """Test whether the robots.txt in FILE allows AGENT to fetch each URL, and show the line that decides.

    FILE - reads standard input. AGENT is a product token such as weft, without a version. A URL without a scheme means
    https; one that starts with / is a path on the file's own site. If any URL is refused, the exit code is 1.
    """
    from weft.robots.file import is_product_token, parse

    if not is_product_token(agent):
        raise UsageError(f"AGENT {agent!r}: expected a product token of letters, digits, - and _, such as weft")
    settings = context.ensure_object(Invocation).load().settings
    limit = settings.limits.robots_bytes
    robots = parse(_read(file, limit), limit)
    rules = robots.rules_for(agent)
    items = [_judged(rules, rules_of(settings), given) for given in urls]
    if as_json:
        known = {"agent": agent, "crawl_delay": rules.crawl_delay, "sitemaps": robots.sitemaps}
        say_json(json.dumps({**known, "count": len(items), "items": items}))
    else:
        say_lines(map(_drawn, items))
    context.exit(0 if all(item["allowed"] for item in items) else 1)


def _read(file: str, limit: int) -> bytes:
    """One byte more than counts, so that a line which the limit cuts is known to be cut."""
    try:
        if file == STANDARD_INPUT and sys.stdin is None:
            raise UsageError("standard input is closed; the argument - needs a robots.txt there")
        if file == STANDARD_INPUT:
            return sys.stdin.buffer.read(limit + 1)
        with Path(file).open("rb") as opened:
            return opened.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; expected a robots.txt that can be read") from error


def _judged(rules: Rules, urls: UrlRules, given: str) -> dict[str, str | int | bool | None]:
    if given.startswith("/") and not given.startswith("//"):
        target = urls.locate("https://site.invalid/", given)[1]
        shown = target
    else:
        shown = urls.identify_typed(given).url
        target = shown[shown.index("/", len("https://")) :]
    decision = rules.decide(target)
    return {"url": shown, "allowed": decision.allowed, "line": decision.line_number, "text": decision.line_text}


def _drawn(item: dict[str, str | int | bool | None]) -> str:
    why = item["text"] or "no rule matches"
    if item["line"] is not None:
        why = f"line {item['line']}: {item['text']}"
    return f"{'allowed' if item['allowed'] else 'refused'}  {item['url']}  {why}"
