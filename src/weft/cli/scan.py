"""`weft scan`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

import click

from weft.cli.invocation import Invocation, as_json, command
from weft.cli.output import say, say_json, say_lines
from weft.cli.tables import aligned, amount
from weft.cli.text_width import terminal_width
from weft.store.api import Cell, Reader
from weft.store.tables import Table, readable, readable_qualifier, readable_row, row_prefix

HEADER = ("row", "cf", "cq", "seq", "value")
_PAGE = 1000
"""Cells that are aligned with each other; more would have to be held in memory before the first line."""


@command("scan")
@click.argument("table", type=click.Choice([table.label for table in Table], case_sensitive=False), metavar="TABLE")
@click.option("--row", "row", default="", metavar="PREFIX", help="Only rows that start with this, as printed.")
@click.option("--limit", default=100, type=click.IntRange(min=0), help="Most cells to print; 0 prints all.")
@as_json
@click.pass_obj
def run(invocation: Invocation, table: str, row: str, limit: int, as_json: bool) -> None:
    """Print the cells of TABLE in order: row, family, qualifier, seq, value.

    A repeated row or family is left blank. Counts in keys are decoded (`t:3:com.c`); bytes that are not text are
    shown as \\xNN.
    """
    chosen = Table[table.upper()]
    with invocation.reader() as reader:
        cells = reader.scan_rows(chosen, row_prefix(chosen, row))
        shown = islice(cells, limit or None)
        if as_json:
            _print_json(chosen, reader, list(shown), has_more=next(cells, None) is not None)
            return
        say_lines(drawn(chosen, shown))
        if limit and next(cells, None) is not None:
            say(f"Showing the first {amount(limit, 'cell')}; --limit 0 prints all.", err=True)


def drawn(table: Table, cells: Iterable[Cell]) -> Iterator[str]:
    """A table of cells, like those in docs/tables.md."""
    remaining = iter(cells)
    page = list(islice(remaining, _PAGE))
    while True:
        yield from aligned(HEADER, list(_without_repeats(table, page)), widest=60, room=terminal_width())
        page = list(islice(remaining, _PAGE))
        if not page:
            return


def _without_repeats(table: Table, cells: Iterable[Cell]) -> Iterator[tuple[str, ...]]:
    before: Cell | None = None
    for cell in cells:
        same_row = before is not None and before.row == cell.row
        same_family = same_row and before is not None and before.family == cell.family
        yield (
            "" if same_row else readable_row(table, cell.row),
            "" if same_family else readable(cell.family),
            readable_qualifier(table, cell.family, cell.qualifier),
            str(cell.seq),
            readable(cell.value),
        )
        before = cell


def _print_json(table: Table, reader: Reader, cells: list[Cell], *, has_more: bool) -> None:
    items = [
        {
            "row": readable_row(table, cell.row),
            "family": readable(cell.family),
            "qualifier": readable_qualifier(table, cell.family, cell.qualifier),
            "seq": cell.seq,
            "value": readable(cell.value),
        }
        for cell in cells
    ]
    answer = {"table": table.label, "seq": reader.last_seq, "count": len(items), "more": has_more, "items": items}
    say_json(json.dumps(answer))
