"""`weft import`."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.progress import Progress
from weft.clock import SystemClock
from weft.errors import UsageError
from weft.index.importer import LISTED, Importer, Report, Watcher
from weft.intake.files import Source, expand


@command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N pages.")
@click.option("--strict", is_flag=True, help="Stop at a bad line, before anything of its file is loaded.")
@as_json
@click.pass_context
def run(context: click.Context, files: tuple[str, ...], limit: int | None, strict: bool, as_json: bool) -> None:
    """Load pages from JSONL files into the index.

    FILE is a file, a directory, a pattern, or - for standard input; plain, .gz or .zst. A home is made where there is
    none. Lines that cannot be loaded are skipped, listed and counted. An import that was cut off goes on where it was
    when the same file is imported again.
    """
    sources = expand(files)
    if strict and any(source.path is None for source in sources):
        raise UsageError("--strict reads a file twice, which standard input cannot be; save it to a file first")
    report = _load(context.ensure_object(Invocation), sources, limit, strict=strict)
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        click.echo(_summary(report))
    for sentence in report.damaged:
        click.echo(f"weft: {sentence}", err=True)
    context.exit(2 if report.damaged else 0)


def _load(invocation: Invocation, sources: list[Source], limit: int | None, *, strict: bool) -> Report:
    from weft.config import starter
    from weft.linkindex.pipeline import LinkIndex

    settings = invocation.load().settings
    if invocation.home.make(starter()):
        click.echo(f"made {invocation.home.path}", err=True)
    sizes = [source.size for source in sources]
    with invocation.writer() as store, Progress(None if None in sizes else sum(filter(None, sizes))) as progress:
        index = LinkIndex(store, settings.index)
        importer = Importer(index, store, rules_of(settings), settings, now=SystemClock().now())
        listing = _Listing(progress)
        for number, source in enumerate(sources):
            done = sum(filter(None, sizes[:number]))
            moved = progress.following(done)
            importer.load(source, strict=strict, most=limit, watcher=Watcher(moved, listing.tell))
            if limit is not None and importer.report.pages >= limit:
                break
        listing.close()
        for sentence in importer.report.resumed:
            progress.say(sentence)
    return importer.report


class _Listing:
    """Skipped lines, told one by one up to a number, then only counted."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._told = progress, 0

    def tell(self, sentence: str) -> None:
        self._told += 1
        if self._told <= LISTED:
            self._progress.say(f"skipped {sentence}")

    def close(self) -> None:
        if self._told > LISTED:
            self._progress.say(f"skipped {self._told - LISTED} more lines")


def _summary(report: Report) -> str:
    parts = [
        f"{report.pages} pages: {report.changed} changed, {report.unchanged} unchanged, {report.ignored} not newer",
        f"{report.links} references changed",
        f"{report.skipped} lines skipped",
    ]
    return f"{'; '.join(parts)} (seq {report.seq})"
