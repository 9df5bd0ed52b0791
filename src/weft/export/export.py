"""Exporting: from one still view of the store into one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft import __version__, failpoints
from weft.errors import WeftError
from weft.export.columns import FIELDS
from weft.export.formats import RowWriter, row_writer
from weft.export.plan import Plan, plan
from weft.export.request import ExportRequest, Format, Subject
from weft.export.whole_file import Sink
from weft.store.api import Reader

Watcher = Callable[[int, int, int | None], None]
"""Told after each block: rows written, rows looked at, and how many rows there are to look at, if that is known."""


class ExportWrong(WeftError):  # noqa: N818 - the state of the index
    """There were more or fewer rows than the index says."""

    def __init__(self, rows: int, expected: int, subject: str) -> None:
        super().__init__(
            f"read {rows} {subject} where the index counts {expected}; run `weft verify` to find the difference"
        )


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, true for the index at `seq`."""

    rows: int
    bytes: int
    seq: int
    counting: str


def export(
    reader: Reader,
    request: ExportRequest,
    sink: Sink,
    directory: Path,
    *,
    form: Format = Format.PARQUET,
    compression: str = "zstd",
    watcher: Watcher = lambda rows, done, total: None,
) -> Exported:
    """Write the rows that `request` asks for. The reader must hold still; large sorts use `directory`."""
    planned = plan(reader, request, directory)
    fields = FIELDS[request.subject]
    rows = done = 0
    with _finishing(row_writer(form, sink, fields, _notes(request, planned), compression)) as writer:
        for block in planned.blocks:
            if block.rows:
                failpoints.point("export.block")
                writer.write(block.columns)
            rows, done = rows + block.rows, done + block.done
            watcher(rows, done, _to_look_at(request, planned))
        if request.takes_every_row and planned.total not in (None, rows):
            raise ExportWrong(rows, planned.total or 0, request.subject)
    return Exported(rows, sink.size, planned.seq, planned.counting)


def _to_look_at(request: ExportRequest, planned: Plan) -> int | None:
    if request.limit is None or request.since is not None or planned.total is None:
        return planned.total
    return min(request.limit, planned.total)


@contextmanager
def _finishing(writer: RowWriter) -> Iterator[RowWriter]:
    try:
        yield writer
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


def _notes(request: ExportRequest, planned: Plan) -> dict[str, str]:
    """What a Parquet file tells of its origin."""
    notes = {"subject": request.subject, "seq": planned.seq, "counting": planned.counting, "version": __version__}
    if request.domains:
        notes["domains"] = " ".join(request.domains)
    if request.domains and request.subject is Subject.LINKS:
        notes["direction"] = request.direction
    if request.since is not None:
        notes["since"] = request.since
    return {f"weft.{name}": str(value) for name, value in notes.items()}
