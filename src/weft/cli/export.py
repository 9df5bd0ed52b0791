"""`weft export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.answers.typed_times import milliseconds_of
from weft.cli.export_progress import ExportProgress
from weft.cli.invocation import Invocation, as_json, command, rules_of
from weft.cli.output import data_output, say, say_json
from weft.cli.tables import amount
from weft.errors import UsageError
from weft.export.request import COMPRESSIONS, SUFFIXES, Direction, ExportRequest, Format, Subject

if TYPE_CHECKING:
    from weft.export.export import Exported
    from weft.export.whole_file import Sink


def _names(kind: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([member.value for member in kind])


_FORMATS = [Format.PARQUET.value, Format.CSV.value, Format.JSONL.value]


@command("export")
@click.argument("subject", type=_names(Subject), metavar="links|pages|domains")
@click.option("--output", metavar="FILE", help="File to write; - is standard output (default: ./links.parquet etc.).")
@click.option("--format", "form", type=click.Choice(_FORMATS), help="Default: by the ending of FILE, else parquet.")
@click.option("--safe-csv", is_flag=True, help="Write CSV for spreadsheets: no cell is taken for a formula.")
@click.option("--domain", "domains", multiple=True, metavar="DOMAIN", help="Only this domain; may be repeated.")
@click.option(
    "--direction", type=_names(Direction), help="Links to pages of DOMAIN (in, the default) or from them (out)."
)
@click.option(
    "--since", metavar="TIME", help="Only links found or pages fetched since: 2026-01-31, 2026-01-31T12:00Z, 7d."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Stop after N rows.")
@click.option("--compression", type=click.Choice(COMPRESSIONS), help="For Parquet (default: zstd).")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@as_json
@click.pass_obj
def run(invocation: Invocation, /, as_json: bool, **given: Any) -> None:
    """Export links, pages or domains to a file: a consistent snapshot of the index.

    FILE appears only when it is complete; until then the data is in FILE.weft-part.
    """
    options = _Options(**given)
    request, form, target = _request(invocation, options), _form(options), _target(options)
    done = _export(invocation, request, form, target, options)
    # Standard output may be the export itself.
    if as_json:
        about = {"subject": request.subject, "output": str(target or "-"), "format": form}
        say_json(json.dumps({**about, **asdict(done)}), err=target is None)
    else:
        say(_summary(request, target, done), err=target is None)


@dataclass(frozen=True, slots=True)
class _Options:
    """The command line as typed."""

    subject: str
    output: str | None
    form: str | None
    safe_csv: bool
    domains: tuple[str, ...]
    direction: str | None
    since: str | None
    limit: int | None
    compression: str | None
    force: bool


def _request(invocation: Invocation, options: _Options) -> ExportRequest:
    rules = rules_of(invocation.load().settings)
    domains = dict.fromkeys(rules.identify_typed(text).domain for text in options.domains)
    subject, direction = Subject(options.subject), Direction(options.direction or Direction.IN)
    if options.direction and not (domains and subject is Subject.LINKS):
        raise UsageError("--direction needs `links` and --domain: it chooses between links to and from a domain")
    since = milliseconds_of(options.since, "--since") if options.since else None
    return ExportRequest(subject, tuple(domains), direction, since, options.limit)


def _form(options: _Options) -> Format:
    if options.form:
        form = Format(options.form)
    elif options.safe_csv:
        form = Format.CSV
    elif options.output is None:
        form = Format.PARQUET
    elif Path(options.output).suffix.lower() in SUFFIXES:
        form = SUFFIXES[Path(options.output).suffix.lower()]
    else:
        endings = ", ".join(SUFFIXES)
        raise UsageError(f"--output {options.output}: unknown format; use one of the endings {endings}, or --format")
    if options.safe_csv and form is not Format.CSV:
        raise UsageError(f"--safe-csv works only with CSV; {form} needs nothing like it")
    if options.compression and form is not Format.PARQUET:
        raise UsageError(f"--compression works only with Parquet; {form} is never compressed")
    if options.output == "-" and form is Format.PARQUET:
        raise UsageError("Parquet cannot be written to standard output; use --output FILE, or --format csv or jsonl")
    return Format.SAFE_CSV if options.safe_csv else form


def _target(options: _Options) -> Path | None:
    """The file to write; None means standard output."""
    if options.output == "-":
        return None
    return Path(options.output or f"{options.subject}.{_form(options).suffix}")


def _export(
    invocation: Invocation, request: ExportRequest, form: Format, target: Path | None, options: _Options
) -> Exported:
    from weft.export.export import export

    home = invocation.home.require()
    with (
        _sink(target, form, replace=options.force) as sink,
        home.workplace() as directory,
        invocation.still_reader("export") as reader,
        ExportProgress(request.subject) as progress,
    ):
        compression = options.compression or "zstd"
        return export(reader, request, sink, directory, form=form, compression=compression, watcher=progress.move)


@contextmanager
def _sink(target: Path | None, form: Format, *, replace: bool) -> Iterator[Sink]:
    from weft.export.whole_file import Sink, whole_file

    if target is not None:
        with whole_file(target, replace=replace) as sink:
            yield sink
        return
    sink = Sink(data_output(is_json=form is Format.JSONL), "standard output")
    yield sink
    sink.flush()


def _summary(request: ExportRequest, target: Path | None, done: Exported) -> str:
    counting = "" if done.counting == "all" else f", counting {done.counting} references"
    place = target or "standard output"
    noun = request.subject.removesuffix("s")
    return f"Exported {amount(done.rows, noun)} to {place}, {done.bytes:,} bytes (seq {done.seq}{counting})"
