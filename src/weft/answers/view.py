"""What answers are put together from: one still view of the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from weft.answers.budget import Budget, BudgetedReader, unlimited
from weft.answers.paging import Scan
from weft.linkindex import keys
from weft.linkindex.pipeline import counted
from weft.linkindex.records import UNKNOWN_URI, Totals, UriInfo, decode_address
from weft.model.domain import reversed_domain
from weft.model.url import PageUrl, Uri, domain_of, url_of
from weft.store.api import Cell, Column, Reader
from weft.store.tables import Table


class View:
    def __init__(self, reader: Reader, budget: Budget | None = None) -> None:
        self.reader = reader if budget is None else BudgetedReader(reader, budget)
        self.budget = budget or unlimited()

    @property
    def seq(self) -> int:
        return self.reader.last_seq

    @property
    def counting(self) -> str:
        """Which references count: all or external."""
        return counted(self.reader) or "all"

    def totals(self) -> Totals:
        cells = self.reader.get(Table.FLUO, keys.totals_columns())
        parts = [Totals.decode(cell.value) for cell in cells if cell is not None]
        return Totals(*(sum(part[n] for part in parts) for n in range(3)))

    def info(self, page: PageUrl) -> UriInfo:
        return self.infos([page.uri])[0]

    def infos(self, uris: Sequence[Uri]) -> list[UriInfo]:
        columns = [keys.uri_info_column(reversed_domain(domain_of(uri)).encode(), uri.encode()) for uri in uris]
        cells = self.reader.get(Table.FLUO, columns)
        return [UriInfo.decode(cell.value) if cell else UNKNOWN_URI for cell in cells]

    def urls(self, uris: Sequence[Uri], infos: Sequence[UriInfo]) -> list[str]:
        """The URL to show for each uri: the one it was fetched by, else http if all who reference it say so."""
        loaded = [uri for uri, info in zip(uris, infos, strict=True) if info.docs]
        cells = self.reader.get(Table.FLUO, [keys.page_column(uri.encode(), keys.CUR) for uri in loaded])
        fetched = {
            uri: decode_address(cell.value).url for uri, cell in zip(loaded, cells, strict=True) if cell is not None
        }
        return [fetched.get(uri) or guessed_url(uri, info) for uri, info in zip(uris, infos, strict=True)]

    def value(self, table: Table, column: Column) -> bytes | None:
        return self.values(table, [column])[0]

    def values(self, table: Table, columns: Sequence[Column]) -> list[bytes | None]:
        return [cell.value if cell else None for cell in self.reader.get(table, columns)]

    def has_history(self, row: bytes) -> bool:
        return next(self.reader.scan(Table.CHANGES, row, limit=1), None) is not None

    def rows_scan(self, table: Table, prefix: bytes) -> Scan[Cell]:
        """A listing of rows, for paging by row."""
        return partial(_scan_rows, self.reader, table, prefix)

    def row_scan(self, table: Table, row: bytes, family: bytes) -> Scan[Cell]:
        """A listing of one family of a row, for paging by qualifier."""
        return partial(_scan_row, self.reader, table, row, family)


def guessed_url(uri: Uri, info: UriInfo) -> str:
    only_http = info.references and info.plain == info.references
    return url_of(uri, "http" if only_http else "https")


def _scan_rows(reader: Reader, table: Table, prefix: bytes, start: bytes | None, *, reverse: bool) -> Iterator[Cell]:
    return reader.scan_rows(table, prefix, start=start, reverse=reverse)


def _scan_row(
    reader: Reader, table: Table, row: bytes, family: bytes, start: bytes | None, *, reverse: bool
) -> Iterator[Cell]:
    return reader.scan(table, row, family, start=start, reverse=reverse)
