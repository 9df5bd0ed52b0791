"""The literal examples of docs/tables.md are what the code writes."""

from __future__ import annotations

import re
from pathlib import Path

from weft.linkindex.changes import newest_first
from weft.linkindex.keys import base_of
from weft.linkindex.records import DomainInfo, Totals, UriInfo, Version
from weft.store.api import Capability
from weft.store.directory import FORMAT, MARKER
from weft.store.encoding import cell_key, descending, split_descending, split_key
from weft.store.memory import MemoryStore
from weft.store.rocksdb import RocksStore
from weft.store.tables import Table, ranked, readable_qualifier, readable_row, row_prefix, unreadable
from weft.store.values import Stamp, split_value

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")


def rows_under(header: str) -> list[list[str]]:
    """The cells, without backticks, of the one table with this header."""
    lines = PAGE.splitlines()
    first = lines.index(header) + 2
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def keys() -> list[tuple[Table, list[str], bytes]]:
    rows = rows_under("| table | row | family | qualifier | key (hex) |")
    return [(Table[row[0].upper()], row[1:4], bytes.fromhex(row[4])) for row in rows]


def test_counts_are_encoded_as_printed() -> None:
    rows = rows_under("| count | bytes (hex) |")
    assert {int(row[0]) for row in rows} >= {0, 3, 255, 256, 2**32}
    for count, printed in rows:
        assert descending(int(count)) == bytes.fromhex(printed)
        assert split_descending(bytes.fromhex(printed)) == (int(count), b"")


def test_counts_are_printed_in_the_order_in_which_they_sort() -> None:
    encoded = [bytes.fromhex(printed) for _, printed in rows_under("| count | bytes (hex) |")]
    assert encoded == sorted(encoded)


def test_keys_are_encoded_as_printed() -> None:
    assert len(keys()) >= 5
    for table, (row, family, qualifier), printed in keys():
        assert cell_key(table.byte, row_prefix(table, row), unreadable(family), stored(family, qualifier)) == printed


def stored(family: str, qualifier: str) -> bytes:
    """The qualifier as a key holds it: the count of a rank encoded."""
    if family != "rank":
        return unreadable(qualifier)
    count, _, uri = qualifier.partition(":")
    return ranked(int(count), unreadable(uri))


def test_keys_read_back_as_printed() -> None:
    for table, (row, family, qualifier), printed in keys():
        byte, *parts = split_key(printed)
        assert byte == table.byte
        assert readable_row(table, parts[0]) == row
        assert parts[1] == unreadable(family)
        assert readable_qualifier(table, parts[1], parts[2]) == qualifier


def test_keys_are_printed_in_the_order_in_which_they_sort() -> None:
    printed = [key for _, _, key in keys()]
    assert printed == sorted(printed)


def test_the_key_taken_apart_is_the_one_printed_in_the_list() -> None:
    pieces = rows_under("| piece | bytes (hex) |")
    assert b"".join(bytes.fromhex(piece[1]) for piece in pieces) in [key for _, _, key in keys()]


def test_values_are_stored_as_printed() -> None:
    rows = rows_under("| seq | value | stored (hex) |")
    assert len(rows) >= 3
    for seq, value, printed in rows:
        assert Stamp(int(seq)).stored(value.encode()) == bytes.fromhex(printed)
        assert split_value(bytes.fromhex(printed)) == (int(seq), value.encode())


def test_every_table_is_printed_with_its_byte() -> None:
    rows = rows_under("| table | byte (hex) | holds | written by |")
    assert {row[0]: bytes.fromhex(row[1]) for row in rows} == {table.label: table.byte for table in Table}


def test_every_capability_is_explained() -> None:
    rows = rows_under("| capability | meaning | engines |")
    assert [row[0] for row in rows] == [capability.name for capability in Capability]


def test_the_engines_have_the_capabilities_printed() -> None:
    rows = rows_under("| capability | meaning | engines |")
    for engine, capabilities in (("memory", MemoryStore.capabilities), ("rocksdb", RocksStore.capabilities)):
        assert {name for name, _, engines in rows if engine in engines} == {flag.name for flag in capabilities}


def test_the_marker_is_the_one_printed(tmp_path: Path) -> None:
    with RocksStore(tmp_path / "store"):
        pass
    printed = re.search(r"`(\{.*?\})`", PAGE)
    assert printed
    assert printed[1] == re.sub(r"[0-9a-f]{32}", "…", (tmp_path / "store" / MARKER).read_text())
    assert f"`{MARKER}`" in PAGE
    assert f"Format {FORMAT} is" in PAGE


RECORDS = {record.__name__: record for record in (UriInfo, DomainInfo, Totals, Version)}


def test_records_have_the_fields_printed_and_are_written_so() -> None:
    rows = rows_under("| record | fields | example |")
    assert [row[0] for row in rows] == list(RECORDS)
    for name, fields, example in rows:
        record = RECORDS[name]
        assert fields == ", ".join(record._fields)
        assert record.decode(example.encode()).encode() == example.encode()


def test_domains_have_the_bases_printed() -> None:
    rows = rows_under("| domain | base |")
    assert [base for _, base in rows] == [f"{base_of(domain.encode()):02x}" for domain, _ in rows]


def test_numbers_of_which_the_newest_comes_first_are_encoded_as_printed() -> None:
    for number, printed in rows_under("| number | bytes (hex) |"):
        assert newest_first(int(number)) == bytes.fromhex(printed)
