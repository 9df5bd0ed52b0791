"""`weft domain`: one domain at a glance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_fact, say_json, say_table

if TYPE_CHECKING:
    from weft.answers.domain_overview import DomainAnswer


@command("domain")
@click.argument("name")
@click.option("--limit", default=10, type=click.IntRange(1, 10_000), help="Most neighbours to print, each way.")
@as_json
@click.pass_obj
def run(invocation: Invocation, name: str, limit: int, as_json: bool) -> None:
    """Show what is known about the domain NAME: counts, states of its pages, neighbours."""
    with invocation.index() as index:
        answer = index.domain(name, limit=limit)
    if as_json:
        say_json(msgspec.json.encode(answer))
        return
    for fact, value in _facts(answer):
        say_fact(f"{fact:<11}", value)
    part = " (a sample)" if answer.sampled else ""
    _say_neighbours(f"Domains that link to it{part}:", answer.referring)
    _say_neighbours(f"Domains that it links to{part}:", answer.referred)


def _facts(answer: DomainAnswer) -> Iterator[tuple[str, str]]:
    yield "seq", str(answer.seq)
    yield "domain", answer.domain
    yield "pages", f"{answer.pagecount:,}" + ("" if answer.crawled is None else f" ({answer.crawled:,} crawled)")
    yield "references", f"{answer.references:,}"
    states = ", ".join(f"{count:,} {state}" for state, count in answer.statuses.items())
    yield "states", states if answer.statuses_complete else f"{states} (of the first {answer.statuses_of:,})"
    yield "counting", answer.counting


def _say_neighbours(title: str, found: Sequence[tuple[str, int]]) -> None:
    if found:
        say("")
        say(title)
        say_table(("links", "domain"), [(str(links), domain) for domain, links in found])
