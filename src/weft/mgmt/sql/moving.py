"""Copies a control plane into an empty one, also of the other engine: every row, under its own number."""

# ruff: noqa: S608 - names of our own relations

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from weft.errors import MgmtError
from weft.mgmt.sql.buckets import start_bucket
from weft.mgmt.sql.database import Database, Row, Transaction
from weft.mgmt.sql.identity import own_store
from weft.mgmt.values import AdoptedIndex

_PAGE: Final = 5_000
"""Rows that are held in memory at once."""


class _Relation(NamedTuple):
    name: str
    key: str = ""
    """By which its rows are read, page after page; empty: there are few of them."""
    is_numbered: bool = False
    """Whether the database gives new rows the next number of this key."""


MOVED: Final = (
    _Relation("host", "index", is_numbered=True),
    _Relation("chunk", "id", is_numbered=True),
    _Relation("link", "index", is_numbered=True),
    _Relation("crawler", "index", is_numbered=True),
    _Relation("index_builder", "index", is_numbered=True),
    _Relation("index_server", "index", is_numbered=True),
    _Relation("pending_host", "web_host"),
    _Relation("robots", "origin"),
    _Relation("address", "web_host"),
    _Relation("site", "name"),
    _Relation("tally"),
    _Relation("wanted", "uri"),
    _Relation("web_token", "id"),
    _Relation("identity"),
    _Relation("clock"),
)
"""In an order in which rows only refer to rows that are there."""
STAYING: Final = frozenset({"bucket", "client", "slot", "weft_schema", "writing_hold"})
"""Who holds what at the moment, and what a database has for itself."""
_GENERATED: Final = {"chunk": frozenset({"index"})}
_MADE_WITH_THE_SCHEMA: Final = "clock"


def is_unused(tx: Transaction) -> bool:
    """Whether nothing was ever kept here."""
    relations = (relation.name for relation in MOVED if relation.name != _MADE_WITH_THE_SCHEMA)
    return not any(tx.rows(f"SELECT 1 FROM {name} LIMIT 1") for name in relations)


def copy_control_plane(source: Database, target: Database, index: AdoptedIndex, where: str) -> int:
    """All rows in one transaction, and `index` as the one that they are about; returns how many rows.

    Raises MgmtError where the target, called `where`, holds anything already.
    """
    return source.read(lambda old: target.write(lambda new: _copy(old, new, index, where)))


def adopt_index(tx: Transaction, index: AdoptedIndex) -> None:
    own_store(tx, index.store, replaces=True)
    start_bucket(tx, index.seq, index.batch)


def _copy(old: Transaction, new: Transaction, index: AdoptedIndex, where: str) -> int:
    if not is_unused(new):
        raise MgmtError(f"control plane {where}: it is not empty; expected a new database; nothing was changed")
    new.run(f"DELETE FROM {_MADE_WITH_THE_SCHEMA}")
    copied = sum(_copy_relation(old, new, relation) for relation in MOVED)
    adopt_index(new, index)
    return copied


def _copy_relation(old: Transaction, new: Transaction, relation: _Relation) -> int:
    names = [name for name in old.columns(relation.name) if name not in _GENERATED.get(relation.name, ())]
    return new.fill(relation.name, names, _rows(old, relation, names), relation.key if relation.is_numbered else "")


def _rows(tx: Transaction, relation: _Relation, names: list[str]) -> Iterator[Row]:
    columns = ", ".join(f'"{name}"' for name in names)
    if not relation.key:
        yield from tx.rows(f"SELECT {columns} FROM {relation.name}")
        return
    place = names.index(relation.key)
    ordered = f'ORDER BY "{relation.key}" LIMIT {_PAGE}'
    page = tx.rows(f"SELECT {columns} FROM {relation.name} {ordered}")
    while page:
        yield from page
        beyond = f'WHERE "{relation.key}" > :last'
        page = tx.rows(f"SELECT {columns} FROM {relation.name} {beyond} {ordered}", last=page[-1][place])
