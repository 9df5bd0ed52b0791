"""`weft import`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import click

from weft.cli.control import recorded_identity
from weft.cli.invocation import Invocation, NumberRange, as_json, command, rules_of
from weft.cli.output import say, say_json
from weft.cli.progress import Progress
from weft.cli.search_upkeep import complete_search
from weft.cli.tables import amount
from weft.clock import SystemClock
from weft.errors import UsageError
from weft.index.importer import LISTED, Importer, ImportPace, ImportReport, ImportWatcher
from weft.intake.import_source import ImportSource, expand
from weft.intake.source_format import SourceFormat

if TYPE_CHECKING:
    from weft.config import Settings
    from weft.index.bulk_import import BulkImporter
    from weft.intake.page_reader import PageReader
    from weft.store.api import Store


class ImportOptions(NamedTuple):
    """The options of `weft import`."""

    limit: int | None
    rate: float | None
    workers: int | None
    strict: bool
    bulk: bool | None
    """None: decided by the size of the input."""


@command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N pages.")
@click.option("--rate", type=NumberRange(min=0, min_open=True), metavar="N", help="Load at most N pages per second.")
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=256),
    metavar="N",
    help="Number of parsing processes (default: one fewer than processors).",
)
@click.option(
    "--bulk/--incremental",
    "bulk",
    default=None,
    help="Build the whole index in one step (it must be empty), or page by page (default: by input size).",
)
@click.option(
    "--strict", is_flag=True, help="Check each file first; stop at a bad line or record and load nothing of that file."
)
@as_json
@click.pass_context
def run(
    context: click.Context,
    files: tuple[str, ...],
    limit: int | None,
    rate: float | None,
    workers: int | None,
    bulk: bool | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Load pages from archives (WARC, WAT, ARC) and JSONL files into the index.

    FILE is a file, a directory, a pattern, or - for standard input; plain, .gz or .zst. Creates the home if there is
    none. Bad lines and records are skipped, listed and counted. To resume an interrupted import, run it again with
    the same file.
    """
    sources = [source.recognised() for source in expand(files)]
    if strict and any(source.path is None for source in sources):
        raise UsageError("--strict reads its input twice and cannot use standard input; save it to a file first")
    report = _load(context.ensure_object(Invocation), sources, ImportOptions(limit, rate, workers, strict, bulk))
    if as_json:
        say_json(json.dumps({field.name: getattr(report, field.name) for field in fields(report)}))
    else:
        say(_summary(report, sources))
    for sentence in report.damaged:
        say(f"weft: {sentence}", err=True)
    context.exit(2 if report.damaged else 0)


def _load(invocation: Invocation, sources: list[ImportSource], options: ImportOptions) -> ImportReport:
    from weft.intake.page_reader import PageReader
    from weft.intake.parser_pool import parser_pool
    from weft.linkindex.pipeline import LinkIndex
    from weft.roles.identity import compare_identity
    from weft.roles.memory_return import return_memory

    return_memory()
    settings = invocation.load().settings
    if invocation.make_home():
        say(f"Created {invocation.home.path}", err=True)
    compare_identity(recorded_identity(invocation), settings)
    round_pages = settings.index.round_pages
    pace = None
    if options.rate is not None:
        # At this pace a round lasts about a second, so its pages are visible after a second.
        pace, round_pages = ImportPace(options.rate), min(round_pages, ceil(options.rate))
    now = SystemClock().now()
    with invocation.writer() as store, parser_pool(settings, rules_of(settings), options.workers) as ready:
        reader = PageReader(ready, settings.limits, min(round_pages, options.limit or round_pages))
        if _is_bulk(store, sources, options, settings):
            report = _load_in_bulk(invocation, store, reader, sources, options, now)
        else:
            importer = Importer(LinkIndex(store, settings.index), store, reader, round_pages, now, pace)
            _load_all(importer, sources, options)
            report = importer.report
        complete_search(invocation, store)
    return report


def _is_bulk(store: Store, sources: list[ImportSource], options: ImportOptions, settings: Settings) -> bool:
    from weft.linkindex.bulk import is_empty
    from weft.store.api import BulkStore

    if options.bulk is not None or options.rate is not None:
        return bool(options.bulk)
    return (
        isinstance(store, BulkStore)
        and is_empty(store)
        and sum(source.size or 0 for source in sources) >= settings.index.bulk_bytes
    )


def _load_in_bulk(
    invocation: Invocation,
    store: Store,
    reader: PageReader,
    sources: list[ImportSource],
    options: ImportOptions,
    now: int,
) -> ImportReport:
    from weft.index.bulk_import import BulkImporter
    from weft.linkindex.bulk import BulkBuild
    from weft.store.api import BulkStore

    if not isinstance(store, BulkStore):
        raise UsageError(
            "--bulk: a cluster's index is not built in one step; import into an embedded home, then use `weft migrate`"
        )
    settings = invocation.load().settings
    with invocation.home.workplace() as place, BulkBuild(store, settings.index, place) as build:
        importer = BulkImporter(build, reader, now)
        _load_all(importer, sources, options)
        say("building the index", err=True)
        importer.finish()
    return importer.report


def _load_all(importer: Importer | BulkImporter, sources: list[ImportSource], options: ImportOptions) -> None:
    sizes = [source.size for source in sources]
    with Progress(None if None in sizes else sum(filter(None, sizes))) as progress:
        listing = _Listing(progress)
        for number, source in enumerate(sources):
            done = sum(filter(None, sizes[:number]))
            watcher = ImportWatcher(progress.following(done), listing.tell)
            importer.load(source, strict=options.strict, most=options.limit, watcher=watcher)
            if options.limit is not None and importer.report.pages >= options.limit:
                break
        listing.close(_noun(sources))
        for sentence in importer.report.resumed:
            progress.say(sentence)


class _Listing:
    """Prints the first skipped lines and records, and counts the rest."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._told = progress, 0

    def tell(self, sentence: str) -> None:
        self._told += 1
        if self._told <= LISTED:
            self._progress.say(f"skipped {sentence}")

    def close(self, noun: str) -> None:
        if self._told > LISTED:
            self._progress.say(f"skipped {amount(self._told - LISTED, f'more {noun}')}")


def _summary(report: ImportReport, sources: list[ImportSource]) -> str:
    removed = f" ({report.removed:,} deleted)" if report.removed else ""
    parts = [
        f"Imported {amount(report.pages, 'page')}{removed}: {report.changed:,} changed, "
        f"{report.unchanged:,} unchanged, {report.ignored:,} not newer",
        f"{amount(report.links, 'link')} changed",
        f"{amount(report.skipped, _noun(sources))} skipped{_listed(report.reasons)}",
    ]
    if report.passed:
        parts.append(f"{amount(report.passed.total(), 'record')} without a page{_listed(report.passed)}")
    return f"{'; '.join(parts)} (seq {report.seq})"


def _listed(counts: Counter[str]) -> str:
    return f" ({', '.join(f'{count} {what}' for what, count in counts.most_common())})" if counts else ""


def _noun(sources: list[ImportSource]) -> str:
    return "line" if all(source.format is SourceFormat.JSONL for source in sources) else "record"
