"""The documents' sample: three pages, loaded for real, and both tables printed as the documents print them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from weft.linkindex.loaded import LoadedPage, RawLink, load_page
from weft.linkindex.records import Doc, decode_page
from weft.model.url import UrlRules
from weft.store.api import Cell, Reader
from weft.store.tables import Table, readable, readable_qualifier, readable_row

PAGES = {
    "https://a.com/page1": ["https://c.com/", "https://b.com/"],
    "https://b.com/": ["https://c.com/page1", "https://c.com/"],
    "https://d.com/": ["https://c.com/"],
}
FETCHED = 1_769_860_800_000

PRINTED = {"0:com.a/page1": "1:com.a/page1", "1:com.b": "2:com.b", "0:com.d": "1:com.d", "t:1:com.b": "t:2:com.b"}
"""Four cells where the documents print scores in a ranking; weft ranks by references everywhere."""


class SampleLine(NamedTuple):
    row: str
    family: str
    qualifier: str
    value: str


def sample_pages() -> list[LoadedPage]:
    rules = UrlRules()
    return [
        load_page(rules, rules.identify(url), FETCHED, [RawLink(link, "anchorText") for link in links], Doc())
        for url, links in PAGES.items()
    ]


def fluo_lines(reader: Reader) -> list[SampleLine]:
    """The first document's one table: ranks, references, and `stats` (a score, and a count unless it is 0)."""
    names = {b"score": "pagescore", b"incount": "inlinkscount"}
    lines = []
    for cell in reader.scan_rows(Table.QUERY):
        if cell.row.startswith(b"t:") or cell.family == b"domain" or (cell.qualifier, cell.value) == (b"incount", b"0"):
            continue
        line = _line(cell)
        lines.append(
            line._replace(family="stats", qualifier=names[cell.qualifier]) if cell.qualifier in names else line
        )
    return lines


def query_lines(reader: Reader) -> list[SampleLine]:
    """The second document's query table, which has no scores."""
    return [_line(cell) for cell in reader.scan_rows(Table.QUERY) if cell.qualifier != b"score"]


def _line(cell: Cell) -> SampleLine:
    row = readable_row(Table.QUERY, cell.row)
    qualifier = readable_qualifier(Table.QUERY, cell.family, cell.qualifier)
    return SampleLine(row, readable(cell.family), qualifier, _value(cell))


def _value(cell: Cell) -> str:
    if cell.qualifier != b"cur":
        return readable(cell.value)
    record = decode_page(cell.value)
    links = ", ".join(link.url.removeprefix("https://").rstrip("/") for link in record.outlinks)
    return f'{{"outlinkcount": {record.outlinkcount}, "outlinks":[{links}]}}'


def drawn(lines: Iterable[SampleLine]) -> Iterator[str]:
    """The lines in the documents' layout; a corrected cell is marked with what they print in its place."""
    yield f"{'row':<18}{'cf':<10}{'cq':<16}value"
    yield "-" * 50
    before = SampleLine("", "", "", "")
    for line in lines:
        row = "" if line.row == before.row else line.row
        family = "" if not row and line.family == before.family else line.family
        printed = PRINTED.get(line.qualifier) or PRINTED.get(line.row)
        mark = f"    <- the documents print {printed}" if printed else ""
        yield f"{row:<18}{family:<10}{line.qualifier:<16}{line.value}{mark}"
        before = line
