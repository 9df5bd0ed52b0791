"""Writes to a cluster carry the seq of their batch, without exception: one without it would hide its cell for good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import weft
from weft.store.cassandra.schema import TABLES
from weft.store.cassandra.statements import WRITES, Statement, text_of

SOURCES = Path(weft.__file__).parent
WRITING = re.compile(r"\b(INSERT INTO|UPDATE \w+ |DELETE FROM|BEGIN BATCH)\b")


@pytest.mark.parametrize("statement", WRITES, ids=lambda each: each.name)
def test_a_write_has_a_timestamp(statement: Statement) -> None:
    assert " USING TIMESTAMP ? " in statement.value
    assert "IF " not in statement.value, "a condition does not go with a timestamp"


@pytest.mark.parametrize("statement", Statement, ids=lambda each: each.name)
def test_a_statement_names_the_keyspace_of_its_table(statement: Statement) -> None:
    named = re.findall(r"weft_1\.(\w+) ", text_of(statement, "weft_1") + " ")
    assert len(named) == 1, "one table"
    assert named[0] in TABLES


def test_there_are_writes() -> None:
    assert {"PUT_CELL", "DELETE_CELL", "PUT_RANK", "DELETE_RANK"} <= {each.name for each in WRITES}


def test_no_other_module_of_the_engine_writes() -> None:
    """The schema's own notes are written once, with a timestamp of their own."""
    for source in sorted((SOURCES / "store" / "cassandra").glob("*.py")):
        if source.name == "statements.py":
            continue
        for line in source.read_text().splitlines():
            if WRITING.search(line):
                assert source.name == "schema.py", line
                assert "{stamp}" in line, line


def test_only_the_engine_knows_the_driver() -> None:
    for source in SOURCES.rglob("*.py"):
        if source.parent != SOURCES / "store" / "cassandra":
            assert not re.search(r"^\s*(from|import) cassandra\b", source.read_text(), re.M), source
