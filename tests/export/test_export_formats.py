"""Every format is read by other programs as it is: the same rows, of the right types."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.exported_rows import DAY, fail_link, index_of, page, rows_of, small_blocks
from weft import __version__
from weft.export import formats
from weft.export.columns import FIELDS, ColumnKind
from weft.export.export import export
from weft.export.request import COMPRESSIONS, Direction, ExportRequest, Format, Subject
from weft.export.whole_file import whole_file
from weft.model.domain import Domain
from weft.store.memory import MemoryStore

NASTY = [
    *("plain", "", " spaces ", 'a "quoted" word', "comma, semicolon; tab\t", "two\nlines", "return\rhere", "both\r\n"),
    *("größer – 漢字 🕸", "'", '"', '""', "\\", "\\n", "null", "NULL", "#", "=1+1", "\u2028", "\ufeff", "e\u0301"),
]
DUCKDB_TYPES = {
    ColumnKind.TEXT: "VARCHAR",
    ColumnKind.COUNT: "BIGINT",
    ColumnKind.TRUTH: "BOOLEAN",
    ColumnKind.MOMENT: "TIMESTAMP WITH TIME ZONE",
}

MOMENTS = ("since", "fetched", "next_due", "failing_since")


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    links = [(f"https://t{number}.com/?q={number}", text, text[:8]) for number, text in enumerate(NASTY)]
    pages = [
        page("https://a.com/", links, at=DAY + 7, title=NASTY[5], description=NASTY[3], language="en"),
        page("http://a.com/2", links[:3], at=2 * DAY),
        page("https://e.com/empty", at=-DAY, status=200, type="text/html", bytes=0, canonical="https://e.com/"),
    ]
    store = index_of([pages])
    fail_link(store, "https://t3.com/?q=3", error="timeout")
    return store


def write(store: MemoryStore, request: ExportRequest, target: Path, form: Format, **options: Any) -> Path:
    with whole_file(target, replace=True) as sink:
        done = export(store, request, sink, target.parent, form=form, **options)
    assert done.bytes == target.stat().st_size
    assert done.seq == store.last_seq
    return target


def values(store: MemoryStore, subject: Subject, directory: Path) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows_of(store, ExportRequest(subject), directory)]


def types_in_duckdb(subject: Subject) -> dict[str, str]:
    return {field.name: DUCKDB_TYPES[field.kind] for field in FIELDS[subject]}


def read_by_duckdb(source: str, subject: Subject) -> list[tuple[Any, ...]]:
    """Its rows, times in milliseconds, after a look at its types."""
    described = duckdb.sql(f"DESCRIBE SELECT * FROM {source}").fetchall()
    assert {name: kind for name, kind, *_ in described} == types_in_duckdb(subject)
    moments = [field.name for field in FIELDS[subject] if field.kind is ColumnKind.MOMENT]
    replaced = ", ".join(f"epoch_ms({name}) AS {name}" for name in moments)
    return duckdb.sql(f"SELECT * {f'REPLACE ({replaced})' if moments else ''} FROM {source}").fetchall()


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("subject", Subject)
def test_parquet_has_the_rows_and_the_types(tmp_path: Path, store: MemoryStore, subject: Subject, size: int) -> None:
    with small_blocks(size):
        file = write(store, ExportRequest(subject), tmp_path / "out.parquet", Format.PARQUET)
    assert read_by_duckdb(f"'{file}'", subject) == values(store, subject, tmp_path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_parquet_tells_where_it_comes_from(tmp_path: Path, store: MemoryStore, compression: str) -> None:
    request = ExportRequest(Subject.LINKS, (Domain("a.com"), Domain("e.com")), Direction.OUT, since=DAY)
    file = write(store, request, tmp_path / "out.parquet", Format.PARQUET, compression=compression)
    found = pyarrow.parquet.ParquetFile(file)
    notes = {key.decode(): value.decode() for key, value in found.metadata.metadata.items() if b"weft." in key}
    assert notes == {
        "weft.subject": "links",
        "weft.seq": "2",
        "weft.counting": "all",
        "weft.version": __version__,
        "weft.domains": "a.com e.com",
        "weft.direction": "out",
        "weft.since": str(DAY),
    }
    packed = {"none": "UNCOMPRESSED"}.get(compression, compression.upper())
    assert found.metadata.row_group(0).column(0).compression == packed
    assert str(found.schema_arrow.field("since").type) == "timestamp[ms, tz=UTC]"


def test_small_blocks_share_a_row_group_up_to_a_number_of_rows_or_bytes(
    tmp_path: Path, store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def row_groups() -> list[int]:
        with small_blocks(1):
            found = pyarrow.parquet.ParquetFile(
                write(store, ExportRequest(Subject.PAGES), tmp_path / "o", Format.PARQUET)
            )
        return [found.metadata.row_group(number).num_rows for number in range(found.num_row_groups)]

    assert row_groups() == [24]
    monkeypatch.setattr(formats, "ROW_GROUP_ROWS", 10)
    assert row_groups() == [10, 10, 4]
    monkeypatch.setattr(formats, "ROW_GROUP_BYTES", 1)
    assert row_groups() == [1] * 24


def as_text(value: Any, kind: ColumnKind) -> str:
    """A value as CSV shows it."""
    if value is None:
        return ""
    if kind is ColumnKind.MOMENT:
        return in_iso_8601(value)
    return str(value).lower() if kind is ColumnKind.TRUTH else str(value)


def in_iso_8601(milliseconds: int) -> str:
    at = datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{at}.{milliseconds % 1000:03d}Z" if milliseconds % 1000 else f"{at}Z"


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("subject", Subject)
def test_csv_has_the_rows_quoted_and_times_by_iso_8601(
    tmp_path: Path, store: MemoryStore, subject: Subject, size: int
) -> None:
    with small_blocks(size):
        file = write(store, ExportRequest(subject), tmp_path / "out.csv", Format.CSV)
    with file.open(newline="", encoding="utf-8") as lines:
        header, *found = csv.reader(lines)
    expected, kinds = values(store, subject, tmp_path), [field.kind for field in FIELDS[subject]]
    assert header == [field.name for field in FIELDS[subject]]
    assert found == [list(map(as_text, row, kinds)) for row in expected]
    source = f"read_csv('{file}', types = {types_in_duckdb(subject)}, allow_quoted_nulls = false)"
    assert read_by_duckdb(source, subject) == expected


def test_duckdb_finds_the_types_of_a_csv_itself(tmp_path: Path, store: MemoryStore) -> None:
    file = write(store, ExportRequest(Subject.PAGES), tmp_path / "out.csv", Format.CSV)
    assert len(read_by_duckdb(f"'{file}'", Subject.PAGES)) == 24


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("subject", Subject)
def test_json_lines_have_the_rows(tmp_path: Path, store: MemoryStore, subject: Subject, size: int) -> None:
    with small_blocks(size):
        file = write(store, ExportRequest(subject), tmp_path / "out.jsonl", Format.JSONL)
    lines = file.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    for line, row in zip(lines, rows_of(store, ExportRequest(subject), tmp_path), strict=True):
        moments = {name: in_iso_8601(at) for name, at in row.items() if name in MOMENTS and at is not None}
        assert json.loads(line) == {**row, **moments}
    source = f"read_json('{file}', format = 'newline_delimited', columns = {types_in_duckdb(subject)})"
    assert read_by_duckdb(source, subject) == values(store, subject, tmp_path)


@pytest.mark.parametrize("form", Format)
@pytest.mark.parametrize("subject", Subject)
def test_an_empty_export_is_a_whole_file(tmp_path: Path, subject: Subject, form: Format) -> None:
    file = write(MemoryStore(), ExportRequest(subject), tmp_path / f"out.{form}", form)
    names = [field.name for field in FIELDS[subject]]
    if form is Format.PARQUET:
        assert read_by_duckdb(f"'{file}'", subject) == []
    elif form in (Format.CSV, Format.SAFE_CSV):
        assert file.read_text() == ",".join(f'"{name}"' for name in names) + "\n"
    else:
        assert file.read_text() == ""


anchors = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=6)


@given(anchors, st.sampled_from([Format.PARQUET, Format.CSV, Format.JSONL]))
def test_any_anchor_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], form: Format
) -> None:
    links = [(f"https://b.com/{number}", text) for number, text in enumerate(texts)]
    store = index_of([[page("https://a.com/", links)]])
    file = write(store, ExportRequest(Subject.LINKS), tmp_path_factory.getbasetemp() / "anchors", form)
    if form is Format.PARQUET:
        found = [str(anchor) for anchor in pyarrow.parquet.read_table(file)["anchor"].to_pylist()]
    elif form is Format.CSV:
        with file.open(newline="", encoding="utf-8") as lines:
            found = [row["anchor"] for row in csv.DictReader(lines)]
    else:
        found = [json.loads(line)["anchor"] for line in file.read_bytes().splitlines()]
    assert found == texts


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]


def test_no_cell_of_a_safe_csv_is_a_formula_and_other_cells_are_as_they_were(tmp_path: Path) -> None:
    links = [(f"https://t{number}.com/", text, "") for number, text in enumerate([*FORMULAS, *NASTY])]
    store = index_of([[page("https://a.com/", links, at=DAY, title="=cmd|' /C calc'!A0")]])
    for subject in (Subject.LINKS, Subject.PAGES):
        plain = write(store, ExportRequest(subject), tmp_path / f"{subject}.csv", Format.CSV)
        safe = write(store, ExportRequest(subject), tmp_path / f"{subject}-safe.csv", Format.SAFE_CSV)
        with plain.open(newline="") as before, safe.open(newline="") as after:
            rows = zip(csv.reader(before), csv.reader(after), strict=True)
            pairs = [pair for one, other in rows for pair in zip(one, other, strict=True)]
        changed = [(a, b) for a, b in pairs if a != b]
        assert changed
        assert all(b == f"'{a}" for a, b in changed)
        assert not any(b[:1] in set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20") for _, b in pairs)
