"""How rows are written: Parquet, CSV, or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec
import pyarrow as arrow  # type: ignore[import-untyped]
from pyarrow.csv import CSVWriter  # type: ignore[import-untyped]
from pyarrow.parquet import ParquetWriter  # type: ignore[import-untyped]

from weft.answers.objects import moment
from weft.export.columns import Coded, Column, ColumnKind, Field
from weft.export.request import Format
from weft.export.whole_file import Sink
from weft.model.spreadsheet import spreadsheet_cell

ROW_GROUP_ROWS: Final = 100_000
ROW_GROUP_BYTES: Final = 64 << 20

_ARROW_TYPES: Final = {
    ColumnKind.TEXT: arrow.string(),
    ColumnKind.COUNT: arrow.int64(),
    ColumnKind.TRUTH: arrow.bool_(),
    ColumnKind.MOMENT: arrow.timestamp("ms", tz="UTC"),
}
_READABLE_TYPES: Final = {**_ARROW_TYPES, ColumnKind.MOMENT: arrow.string()}


class RowWriter(Protocol):
    """Writes blocks of rows. Without `finish` what was written is no whole file."""

    def write(self, columns: Sequence[Column]) -> None: ...

    def finish(self) -> None: ...

    def abandon(self) -> None:
        """Let go without writing any more."""
        ...


class ParquetRows:
    """Blocks together make row groups; `notes` become the file's key-value metadata."""

    def __init__(self, sink: Sink, fields: Sequence[Field], notes: Mapping[str, str], compression: str) -> None:
        self._schema = _schema(fields, _ARROW_TYPES).with_metadata(dict(notes))
        self._writer = ParquetWriter(sink, self._schema, compression=compression)
        self._held: list[Any] = []

    def write(self, columns: Sequence[Column]) -> None:
        self._held.append(_batch(columns, self._schema))
        is_full = sum(batch.nbytes for batch in self._held) >= ROW_GROUP_BYTES
        if is_full or sum(batch.num_rows for batch in self._held) >= ROW_GROUP_ROWS:
            self._write_group()

    def _write_group(self) -> None:
        held, self._held = self._held, []
        self._writer.write_table(arrow.Table.from_batches(held, self._schema))

    def finish(self) -> None:
        if self._held:
            self._write_group()
        self._writer.close()

    def abandon(self) -> None:
        # Else it would write the end of the file when it is collected.
        self._writer.is_open = False


class CsvRows:
    """By RFC 4180 with plain line ends: every text is quoted, so that an empty one differs from none."""

    def __init__(self, sink: Sink, fields: Sequence[Field], *, for_spreadsheets: bool = False) -> None:
        self._fields, self._schema = fields, _schema(fields, _READABLE_TYPES)
        self._for_spreadsheets = for_spreadsheets
        self._writer = CSVWriter(sink, self._schema)

    def write(self, columns: Sequence[Column]) -> None:
        readable = _readable(columns, self._fields)
        if self._for_spreadsheets:
            readable = [_without_formulas(column) for column in readable]
        self._writer.write_batch(_batch(readable, self._schema))

    def finish(self) -> None:
        self._writer.close()

    def abandon(self) -> None:
        """Nothing to do: every block is written at once."""


class JsonRows:
    """An object a line, with every field; null where there is none."""

    def __init__(self, sink: Sink, fields: Sequence[Field]) -> None:
        self._sink, self._fields = sink, fields
        self._row = msgspec.defstruct("Row", [field.name for field in fields], gc=False)
        self._encoder = msgspec.json.Encoder()

    def write(self, columns: Sequence[Column]) -> None:
        rows = list(map(self._row, *_readable(columns, self._fields)))
        self._sink.write(self._encoder.encode_lines(rows))

    def finish(self) -> None:
        """Nothing to do: every line is whole."""

    def abandon(self) -> None:
        """Nothing to do: every block is written at once."""


def row_writer(
    form: Format, sink: Sink, fields: Sequence[Field], notes: Mapping[str, str], compression: str
) -> RowWriter:
    if form is Format.PARQUET:
        return ParquetRows(sink, fields, notes, compression)
    if form is Format.JSONL:
        return JsonRows(sink, fields)
    return CsvRows(sink, fields, for_spreadsheets=form is Format.SAFE_CSV)


def _schema(fields: Sequence[Field], types: Mapping[ColumnKind, Any]) -> Any:
    return arrow.schema([(field.name, types[field.kind]) for field in fields])


def _batch(columns: Sequence[Column], schema: Any) -> Any:
    arrays = [_array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
    return arrow.record_batch(arrays, schema=schema)


def _array(column: Column, kind: Any) -> Any:
    if isinstance(column, Coded):
        return arrow.array(column.values, kind).take(arrow.array(column.codes))
    return arrow.array(column, kind)


def _without_formulas(column: Column) -> Column:
    """Texts that a spreadsheet would run begin with an apostrophe, which it hides."""
    if isinstance(column, Coded):
        return Coded([*map(spreadsheet_cell, column.values)], column.codes)
    return [spreadsheet_cell(cell) if isinstance(cell, str) else cell for cell in column]


_text_of: Final = lru_cache(maxsize=65_536)(moment)


def _readable(columns: Sequence[Column], fields: Sequence[Field]) -> Sequence[Column]:
    """Moments as text."""
    return [
        [None if at is None else _text_of(at) for at in column] if field.kind is ColumnKind.MOMENT else column
        for column, field in zip(columns, fields, strict=True)
    ]
