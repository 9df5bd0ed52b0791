"""`weft top`, `links`, `page`, `domains`, `changes`: queries from a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from weft.answers.anchors import AnchorListing
from weft.answers.objects import ChangeItem, DomainListing, FoldedItem, Listing, TopItem
from weft.answers.page_text import PageText
from weft.answers.typed_times import milliseconds_of
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_fact, say_json, say_lines, say_table
from weft.cli.page_words import page_facts, text_lines
from weft.cli.tables import amount
from weft.errors import UsageError


def paging(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every listing."""
    limit = click.option("--limit", default=20, type=click.IntRange(1, 10_000), help="Most items to print.")
    cursor = click.option(
        "--cursor", metavar="CURSOR", help="Continue from the `next` or `prev` cursor of an earlier answer."
    )
    return limit(cursor(as_json(function)))


@command("top")
@click.option("--domain", metavar="DOMAIN", help="Only pages of this domain.")
@click.option("--fold", is_flag=True, help="Show near-duplicates as one line.")
@paging
@click.pass_obj
def top(invocation: Invocation, domain: str | None, fold: bool, limit: int, cursor: str | None, as_json: bool) -> None:
    """List the most linked pages."""
    with invocation.index() as index:
        answer = index.top(domain, limit=limit, cursor=cursor, fold=fold)
    rows = [(str(item.references), "yes" if item.crawled else "no", _with_near(item)) for item in answer.items]
    of = f" of {answer.domain}" if isinstance(answer, DomainListing) else ""
    _tell(answer, as_json, ("references", "crawled", "url"), rows, f"{amount(answer.total or 0, 'page')}{of} known")


@command("links")
@click.argument("url")
@click.option("--out", is_flag=True, help="List the pages that URL links to, in page order.")
@click.option("--anchors", is_flag=True, help="Count the anchor texts of links to URL, most frequent first.")
@paging
@click.pass_obj
def links(
    invocation: Invocation, url: str, out: bool, anchors: bool, limit: int, cursor: str | None, as_json: bool
) -> None:
    """List the pages that link to URL, with their anchor texts and since when."""
    if anchors and (out or cursor):
        raise UsageError("--anchors counts all links to the page; leave out --out and --cursor")
    with invocation.index() as index:
        if anchors:
            _tell_anchors(index.anchors(url, limit=limit), as_json)
            return
        answer = index.links(url, out=out, limit=limit, cursor=cursor)
    rows = [(item.since or "", item.url, item.anchor) for item in answer.items]
    if out:
        found = f"{answer.url} links to {amount(answer.total or 0, 'page')}"
    else:
        found = f"{amount(answer.references, 'page')} link{'s' if answer.references == 1 else ''} to {answer.url}"
    _tell(answer, as_json, ("since", "url", "anchor"), rows, found)


@command("page")
@click.argument("url")
@click.option("--text", is_flag=True, help="Show what the page says, as it was indexed.")
@as_json
@click.pass_obj
def page(invocation: Invocation, url: str, text: bool, as_json: bool) -> None:
    """Show what is known about the page at URL, even if it was never crawled."""
    with invocation.index() as index:
        if text:
            _tell_text(index.text(url), as_json)
            return
        answer = index.page(url)
    if as_json:
        say_json(msgspec.json.encode(answer))
        return
    for name, value in page_facts(answer):
        say_fact(f"{name:<13}", value)


@command("domains")
@click.option("--by", type=click.Choice(["pages", "references"]), default="pages", help="Sort order.")
@paging
@click.pass_obj
def domains(invocation: Invocation, by: str, limit: int, cursor: str | None, as_json: bool) -> None:
    """List the domains in the index, largest first."""
    with invocation.index() as index:
        answer = index.domains(by, limit=limit, cursor=cursor)
    rows = [(str(item.pagecount), str(item.references), item.domain) for item in answer.items]
    _tell(answer, as_json, ("pages", "references", "domain"), rows, f"{amount(answer.total or 0, 'domain')} known")


@command("changes")
@click.argument("of", required=False, metavar="[URL|DOMAIN]")
@click.option("--since", metavar="TIME", help="Only changes since then: 2026-01-31, 2026-01-31T12:00Z, 36h, 7d.")
@click.option("--kind", type=click.Choice(["links", "pages"]), help="Only changes of links, or only of pages.")
@paging
@click.pass_obj
def changes(
    invocation: Invocation,
    of: str | None,
    since: str | None,
    kind: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
) -> None:
    """List what changed, newest first: links to URL and the page itself, links to and pages of DOMAIN, or all.

    A link is new, lost or has a new text (anchor). A page is new, gone, moved, or has a new title or text. A bare name
    such as example.com means the domain; its front page is https://example.com/.
    """
    earliest = milliseconds_of(since, "--since") if since else None
    with invocation.index() as index:
        answer = index.changes(of, since=earliest, kind=kind, limit=limit, cursor=cursor)
    rows = [(item.at, item.change, item.source_url, item.target_url, _text_of(item)) for item in answer.items]
    found = f"{amount(answer.count, 'change')} shown"
    if answer.cut_short:
        found += ", and there may be more: an answer ends after looking through so much"
    if answer.baseline:
        begin = answer.baseline
        found += f"; history starts {begin.at} with {amount(begin.pages, 'page')}, {amount(begin.references, 'link')}"
    _tell(answer, as_json, ("at", "change", "source", "target", "text"), rows, found)


def _tell_anchors(answer: AnchorListing, as_json: bool) -> None:
    if as_json:
        say_json(msgspec.json.encode(answer))
        return
    say_table(("links", "anchor"), [(str(item.count), item.anchor) for item in answer.items], widest=72)
    of = amount(answer.looked_at, "link") if answer.complete else f"the first {amount(answer.looked_at, 'link')}"
    say(f"{amount(answer.distinct, 'anchor text')} of {of} to {answer.url} (seq {answer.seq})", dim=True)


def _tell_text(answer: PageText, as_json: bool) -> None:
    if as_json:
        say_json(msgspec.json.encode(answer))
        return
    say_lines(text_lines(answer))


def _text_of(item: ChangeItem) -> str:
    """The words of a link, the title of a page, or where it leads now."""
    return f"to {item.moved_to}" if item.moved_to else item.title or item.anchor


def _with_near(item: TopItem) -> str:
    """The URL, and how many near-duplicates it represents."""
    near = len(item.near) if isinstance(item, FoldedItem) else 0
    return f"{item.url} (and {near} near-duplicates)" if near else item.url


def _tell(answer: Listing, as_json: bool, header: Sequence[str], rows: Sequence[Sequence[str]], found: str) -> None:
    if as_json:
        say_json(msgspec.json.encode(answer))
        return
    say_table(header, rows, widest=72)
    counting = "" if answer.counting == "all" else f", counting {answer.counting} references"
    say(f"{found} (seq {answer.seq}{counting})", dim=True)
    for name in ("next", "prev"):
        if getattr(answer, name):
            say(f"{name}: --cursor {getattr(answer, name)}", dim=True)
