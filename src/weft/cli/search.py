"""`weft search`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click
import msgspec

from weft.answers.search import SearchItem, SearchListing
from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json, say_marked
from weft.cli.tables import amount
from weft.cli.text_width import lines_of, terminal_width

_WIDEST = 100
_INDENT = "   "


@command("search")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="WORDS...")
@click.option("--limit", default=10, type=click.IntRange(1, 100), help="Most results to print.")
@click.option("--cursor", metavar="CURSOR", help="Continue from the `next` or `prev` cursor of an earlier answer.")
@click.option(
    "--per-domain",
    type=click.IntRange(min=0),
    metavar="N",
    help="Most results of one domain among them; 0 means any number.  [default: 2, or 0 with site:]",
)
@click.option("--fold/--no-fold", default=True, help="Whether pages that say nearly the same are one result.")
@click.option("--explain", is_flag=True, help="Show how each score came about.")
@as_json
@click.pass_context
def run(
    context: click.Context,
    words: tuple[str, ...],
    limit: int,
    cursor: str | None,
    per_domain: int | None,
    fold: bool,
    explain: bool,
    as_json: bool,
) -> None:
    """Find pages by their words, best first.

    All words must be on a page, in its title, text or URL, or in the text of links to it. Also: "a phrase", -word, one
    OR other, begin*, site:, intitle:, inurl:, lang:, after:, before:. Exits with 1 if nothing is found.
    """
    with context.ensure_object(Invocation).index() as index:
        answer = index.search(
            query_text(words), limit=limit, cursor=cursor, per_domain=per_domain, fold=fold, explain=explain
        )
    if as_json:
        say_json(msgspec.json.encode(answer))
    else:
        _show(answer)
    context.exit(0 if answer.items else 1)


# A word that begins with a minus is a part of the query, not an option.
run.context_settings["ignore_unknown_options"] = True


def query_text(words: Sequence[str]) -> str:
    """What was typed: the shell has taken the quotes off a phrase that stands beside other words."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _show(answer: SearchListing) -> None:
    for note in _notes(answer):
        say(note, err=True)
    for number, item in enumerate(answer.items, 1):
        _show_item(number, item)
    say(_summary(answer), dim=True)
    for name, facets in (("domains", answer.domains), ("languages", answer.languages)):
        if len(facets) > 1:
            say(f"{name}: {', '.join(f'{one.value} {one.count:,}' for one in facets)}", dim=True)
    for name in ("next", "prev"):
        if getattr(answer, name):
            say(f"{name}: --cursor {getattr(answer, name)}", dim=True)


def _notes(answer: SearchListing) -> Iterator[str]:
    yield from answer.notes
    if answer.corrected:
        yield f"No page has {_listed(answer.corrected)}; searched for {_listed(answer.corrected.values())} instead."
    if not answer.all_words:
        yield "No page has all of these words; these have some of them."
    if answer.missing_shards:
        yield f"{amount(answer.missing_shards, 'part')} of the index cannot be reached, so pages are missing here."


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _show_item(number: int, item: SearchItem) -> None:
    room = min(_WIDEST, terminal_width() or _WIDEST) - len(_INDENT)
    say_marked(f"{number:>2} ", item.title or item.url, item.title_marks if item.title else (), bold=True)
    if item.title:
        say(f"{_INDENT}{item.url}")
    for start, end in lines_of(item.snippet, room):
        marks = [(max(a, start) - start, min(b, end) - start) for a, b in item.marks if a < end and b > start]
        say_marked(_INDENT, item.snippet[start:end], marks)
    say(_INDENT + " · ".join(_facts(item)), dim=True)
    for part in item.parts or ():
        say(f"{_INDENT}{part.score:>9.4f}  {part.name}", dim=True)
    say()


def _facts(item: SearchItem) -> Iterator[str]:
    if item.changed:
        yield item.changed[:10]
    if not item.crawled:
        yield "not crawled"
    yield amount(item.references, "reference")
    if item.folded:
        yield f"{amount(item.folded, 'similar page')}"
    if item.parts is not None:
        yield f"score {item.score:.4f}"


def _summary(answer: SearchListing) -> str:
    if not answer.items and not answer.prev:
        return f"No page matches {answer.query} (seq {answer.seq})"
    about = "" if answer.total_is_exact else "at least "
    return f"{about}{amount(answer.total or 0, 'page')} match{'es' if answer.total == 1 else ''} (seq {answer.seq})"
